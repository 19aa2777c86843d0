"""What there is to gain over the default settings, scenario by scenario; see headroom.md."""
