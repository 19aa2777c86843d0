"""Picture functions of other libraries that are answered natively for our samples, byte for byte.

A worker process of ours has Pillow make the pixels of JPEG files by the core's decoder. `views` are
pictures that are not made yet: what file they come from, which part of it, turned and resized how.
`late` is what an image of Pillow holds in the place of such pixels, and makes them at first use.
`held` is where old images of Pillow hold it, `opening` loads files without making pixels, and
`methods` are the methods of Pillow that go on with a view; `tensors`, `scaling`, `normalizing` and
`resizing` are torchvision's functions that take one, or what is made of one, `composing` takes
several of them together, and `stacking` makes a batch of what comes of them; `opencv` and
`torchvision_io` have functions of these decode natively, by the orientation that `exif` finds.
`patching` puts all of them there (`patches`) once a library is imported (`importing`), and `proof`
says whether the Pillow that is installed gives the same pixels. In a process of the user's `here`
has them act for a thread's sample alone. `tally` counts, in memory that all processes share;
`acceleration` is what a loader has of all this, and what it gives its workers, such as the table of
what decoding has learnt of files (`indexes`).
"""
