"""What an image of Pillow holds in the place of pixels that are made at first use."""

from __future__ import annotations

from typing import Any, Protocol

from drapps.accelerate.views import Box, View


class Maker(Protocol):
    """What makes images of views."""

    def image(self, like: Any, view: View) -> Any:
        """An image like another one, of a view."""

    def resized(
        self, view: View, size: tuple[int, int], bicubic: bool, box: Box | None = None
    ) -> View:
        """A view in another size, or a box of it."""


class LatePixels:
    """Stands where Pillow keeps its core image, until somebody asks for that.

    Attributes:
        view: what is to be made; None once it is.
        maker: makes images of what becomes of the view.
    """

    __slots__ = ("__weakref__", "_core", "maker", "view")
    readonly = 0

    def __init__(self, view: View, maker: Maker) -> None:
        self.view: View | None = view
        self.maker = maker
        self._core: Any = None

    @property
    def mode(self) -> str:
        """The mode of the picture."""
        return self._core.mode if self.view is None else self.view.mode

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self._core.size if self.view is None else self.view.size

    def core_image(self) -> Any:
        """Pillow's core image of these pixels, always the same."""
        view = self.view
        if view is not None:
            core = _in_pillow(view)
            if self.view is view:  # no other thread was quicker
                self._core, self.view = core, None
        return self._core

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.core_image(), name)


class LateAccess:
    """What load() gives for pixels that are not made yet: the first look at one makes them."""

    __slots__ = ("_access", "_late")

    def __init__(self, late: LatePixels) -> None:
        self._late = late
        self._access: Any = None

    def _pixel_access(self) -> Any:
        if self._access is None:
            self._access = self._late.core_image().pixel_access(0)
        return self._access

    def __getitem__(self, place: Any) -> Any:
        return self._pixel_access()[place]

    def __setitem__(self, place: Any, value: Any) -> None:
        self._pixel_access()[place] = value


def _in_pillow(view: View) -> Any:
    from PIL import Image

    pixels, raw = view.for_pillow()
    image = Image.new(view.mode, view.size, None)
    image.frombytes(pixels, "raw", raw, 0, 1)
    return image.im
