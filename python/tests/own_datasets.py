"""Datasets of the kinds that people publish, each made in a folder of photographs."""

from __future__ import annotations

import csv
import io
import sqlite3
import tarfile
import zipfile
from pathlib import Path

import cv2
import h5py
import numpy as np
import pyarrow
import pyarrow.parquet
import torch
from PIL import Image, ImageOps
from torch.utils import data
from torchvision import transforms as v1
from torchvision.transforms import v2

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


class Own(data.Dataset):
    """Pictures of a folder by their paths.

    Attributes:
        draws: it draws random numbers, which threads share.
        native: pictures of a sample that are decoded natively.
    """

    draws = False
    native = 1

    def __init__(self, folder):
        self.folder = Path(folder)
        self.paths = sorted(self.folder.glob("*.jpg"))
        self._prepare()

    def _prepare(self):
        """What others have published, beside the photographs."""

    def __len__(self):
        return len(self.paths)

    def _opened(self, index):
        return Image.open(self.paths[index]).convert("RGB")


class Table(Own):
    """A table of names and labels."""

    draws = True

    def _prepare(self):
        table = self.folder / "labels.csv"
        with table.open("w", newline="") as file:
            csv.writer(file).writerows([path.name, n % 3] for n, path in enumerate(self.paths))
        with table.open(newline="") as file:
            self.rows = list(csv.reader(file))
        self.transform = v1.Compose(
            [
                v1.RandomResizedCrop(32),
                v1.RandomHorizontalFlip(),
                v1.ToTensor(),
                v1.Normalize(MEAN, STD),
            ]
        )

    def __getitem__(self, index):
        name, label = self.rows[index]
        with Image.open(self.folder / name) as image:
            return self.transform(image.convert("RGB")), int(label)


class Second(Own):
    """The second interface of torchvision."""

    draws = True

    def _prepare(self):
        three = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
        self.transform = v2.Compose([v2.RandomResizedCrop(32), v2.RandomHorizontalFlip(), *three])

    def __getitem__(self, index):
        return self.transform(self._opened(index)), index


class Views(Own):
    """Two random views of a picture."""

    draws = True

    def _prepare(self):
        jitter = v1.RandomApply([v1.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8)
        parts = [v1.RandomResizedCrop(28), jitter, v1.RandomGrayscale(0.2), v1.ToTensor()]
        self.transform = v1.Compose(parts)

    def __getitem__(self, index):
        image = self._opened(index)
        return self.transform(image), self.transform(image)


class Pairs(Own):
    """Small and large pictures of the same, for super-resolution."""

    def __getitem__(self, index):
        image = self._opened(index)
        large = image.crop((4, 6, 52, 54))
        small = large.resize((24, 24), Image.Resampling.BICUBIC)
        return np.asarray(large).copy(), np.asarray(small).copy()


class Triplets(Own):
    """An anchor, one of the same and one of another."""

    native = 3

    def __getitem__(self, index):
        chosen = (index, (index + 1) % len(self), (index + 3) % len(self))
        resize = v1.Resize((24, 20))
        return [v1.functional.to_tensor(resize(self._opened(each))) for each in chosen]


class Masks(Own):
    """Pictures and masks, cut alike."""

    draws = True

    def _prepare(self):
        for path in self.paths:
            Image.open(path).convert("L").point(lambda v: v // 64).save(path.with_suffix(".png"))

    def __getitem__(self, index):
        image, mask = self._opened(index), Image.open(self.paths[index].with_suffix(".png"))
        place = v1.RandomCrop.get_params(image, (30, 34))
        image, mask = (v1.functional.crop(each, *place) for each in (image, mask))
        if torch.rand(()) < 0.5:
            image, mask = map(v1.functional.hflip, (image, mask))
        return v1.functional.to_tensor(image), torch.as_tensor(np.array(mask), dtype=torch.int64)


class Boxes(Own):
    """Boxes beside pictures that OpenCV reads."""

    def __getitem__(self, index):
        image = cv2.cvtColor(cv2.imread(str(self.paths[index])), cv2.COLOR_BGR2RGB)
        height, width = image.shape[:2]
        boxes = np.array([[1, 2, width / 2, height / 2]], np.float32)
        scale = np.array([30 / width, 20 / height] * 2, np.float32)
        return cv2.resize(image, (30, 20))[:, ::-1].copy(), boxes * scale


class Medical(Own):
    """Gray pictures, as numbers around zero."""

    def __getitem__(self, index):
        image = Image.open(self.paths[index]).convert("L").resize((40, 40), 2)
        scan = np.asarray(image, np.float32)
        return torch.from_numpy((scan - scan.mean()) / (scan.std() + 1e-6))[None]


class Phone(Own):
    """Pictures that say how they are to be turned, and small ones of them."""

    def __getitem__(self, index):
        image = ImageOps.exif_transpose(Image.open(self.paths[index]))
        part = image.convert("RGB").resize((24, 24), box=(1.5, 2.25, 44.0, 43.5), reducing_gap=2.0)
        small = ImageOps.fit(image.convert("RGB"), (16, 16))
        return np.array(part), np.array(small)


class Zipped(Own):
    """Members of a zip archive, which each process opens."""

    archive = None

    def _prepare(self):
        with zipfile.ZipFile(self.folder / "all.zip", "w") as archive:
            for path in self.paths:
                archive.write(path, path.name)

    def __getitem__(self, index):
        if self.archive is None:
            self.archive = zipfile.ZipFile(self.folder / "all.zip")
        with self.archive.open(self.paths[index].name) as file:
            return v1.functional.to_tensor(Image.open(file).convert("RGB").resize((20, 30)))


class Tarred(Own):
    """Members of a tar archive, by their places."""

    def _prepare(self):
        with tarfile.open(self.folder / "all.tar", "w") as archive:
            for path in self.paths:
                archive.add(path, path.name)
        with tarfile.open(self.folder / "all.tar") as archive:
            self.places = [(each.offset_data, each.size) for each in archive.getmembers()]

    def __getitem__(self, index):
        offset, size = self.places[index]
        with (self.folder / "all.tar").open("rb") as file:
            file.seek(offset)
            image = Image.open(io.BytesIO(file.read(size)))
        return v1.functional.pil_to_tensor(v1.functional.center_crop(image.convert("RGB"), 30))


class Hdf5(Own):
    """Bytes of files in HDF5."""

    file = None

    def _prepare(self):
        with h5py.File(self.folder / "all.h5", "w") as file:
            kind = h5py.vlen_dtype(np.uint8)
            files = file.create_dataset("files", (len(self.paths),), kind)
            for number, path in enumerate(self.paths):
                files[number] = np.frombuffer(path.read_bytes(), np.uint8)

    def __getitem__(self, index):
        if self.file is None:
            self.file = h5py.File(self.folder / "all.h5")
        stored = self.file["files"][index]
        picture = cv2.imdecode(stored, cv2.IMREAD_COLOR)
        return cv2.resize(picture, (22, 22)).transpose(2, 0, 1).copy()


class Database(Own):
    """Bytes of files under keys, as in LMDB."""

    base = None

    def _prepare(self):
        with sqlite3.connect(self.folder / "all.db") as base:
            base.execute("create table files (key integer primary key, file blob)")
            files = enumerate(path.read_bytes() for path in self.paths)
            base.executemany("insert into files values (?, ?)", files)
        base.close()

    def __getitem__(self, index):
        base = sqlite3.connect(self.folder / "all.db")
        [(file,)] = base.execute("select file from files where key = ?", (index,))
        base.close()
        image = Image.open(io.BytesIO(file))
        image.load()
        return np.array(image.convert("RGB").rotate(90, expand=True).resize((24, 24), 2))


class Parquet(Own):
    """Bytes of files in a column."""

    def _prepare(self):
        files = [path.read_bytes() for path in self.paths]
        table = pyarrow.table({"image": files, "label": list(range(len(files)))})
        pyarrow.parquet.write_table(table, self.folder / "all.parquet")
        self.table = pyarrow.parquet.read_table(self.folder / "all.parquet")

    def __getitem__(self, index):
        file = self.table["image"][index].as_py()
        image = Image.open(io.BytesIO(file)).convert("RGB").transpose(Image.Transpose.ROTATE_90)
        return v2.functional.to_image(image.resize((26, 21), 3)), index


class Features(Own):
    """A column of Hugging Face's pictures, with a transform."""

    def _prepare(self):
        import datasets

        columns = {"image": [str(path) for path in self.paths]}
        kinds = datasets.Features({"image": datasets.Image()})
        self.table = datasets.Dataset.from_dict(columns, kinds)
        self.table.set_transform(self._transformed)

    @staticmethod
    def _transformed(rows):
        resize = v1.Resize((24, 24))
        return {"pixels": [v1.functional.to_tensor(resize(each)) for each in rows["image"]]}

    def __getitem__(self, index):
        return self.table[index]["pixels"]


class Streamed(data.IterableDataset):
    """A tar archive from its beginning to its end."""

    draws = True
    native = 1

    def __init__(self, folder):
        Tarred(folder)
        self.archive = str(Path(folder) / "all.tar")

    def __iter__(self):
        with tarfile.open(self.archive) as archive:
            for member in archive:
                image = Image.open(archive.extractfile(member)).convert("RGB")
                yield v1.functional.to_tensor(v1.RandomResizedCrop(24)(image)), member.name


KINDS = [
    *(Table, Second, Views, Pairs, Triplets, Masks, Boxes, Medical),
    *(Phone, Zipped, Tarred, Hdf5, Database, Parquet, Features, Streamed),
]
