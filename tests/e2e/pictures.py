"""Pictures of the page: compared with a tolerance, and kept small. The browser itself does the arithmetic."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from typing import Any, Final, cast

from playwright.async_api import Page

CHANNEL: Final = 48
"""A pixel differs when one of its colours does by more than this of 255: edges of letters may be a shade apart."""
SHARE: Final = 0.0005
"""Of all pixels, how many may differ."""
BLOCK: Final = 32
BLOCK_PIXELS: Final = 40
"""In no square of 32 by 32 may more pixels differ: a word that is missing is more, a rounded corner is less."""

SCRIPT: Final = """
async ([actual, reference, channel, side]) => {
  const read = async (text) => {
    const image = await createImageBitmap(await (await fetch("data:image/png;base64," + text)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    return { width: image.width, height: image.height, data };
  };
  const [a, b] = [await read(actual), await read(reference)];
  const sizes = [a.width, a.height, b.width, b.height];
  if (a.width !== b.width || a.height !== b.height) return { sizes, differing: -1, worst: -1, at: [0, 0] };
  const columns = Math.ceil(a.width / side);
  const blocks = new Uint32Array(columns * Math.ceil(a.height / side));
  let differing = 0;
  for (let at = 0; at < a.data.length; at += 4) {
    const far = (k) => Math.abs(a.data[at + k] - b.data[at + k]) > channel;
    if (!far(0) && !far(1) && !far(2)) continue;
    const [x, y] = [(at / 4) % a.width, Math.floor(at / 4 / a.width)];
    differing += 1;
    blocks[Math.floor(y / side) * columns + Math.floor(x / side)] += 1;
  }
  const worst = blocks.reduce((most, count) => Math.max(most, count), 0);
  const place = blocks.indexOf(worst);
  return { sizes, differing, worst, at: [(place % columns) * side, Math.floor(place / columns) * side] };
}
"""

PALETTE: Final = """
async (data) => {
  const image = await createImageBitmap(await (await fetch("data:image/png;base64," + data)).blob());
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  const pixels = context.getImageData(0, 0, image.width, image.height).data;
  const counts = new Map();
  const colour = (at) => (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
  for (let at = 0; at < pixels.length; at += 4) counts.set(colour(at), (counts.get(colour(at)) ?? 0) + 1);
  const far = (a, b) => [16, 8, 0].reduce((sum, by) => sum + (((a >> by) & 255) - ((b >> by) & 255)) ** 2, 0);
  const frequent = [...counts].sort((a, b) => b[1] - a[1]).map(([one]) => one);
  const palette = frequent.slice(0, 96);
  for (const one of frequent) {
    if (palette.length < 224 && palette.every((other) => far(one, other) > 300)) palette.push(one);
  }
  for (const one of frequent) if (palette.length < 256 && !palette.includes(one)) palette.push(one);
  const nearest = new Map();
  for (const one of counts.keys()) {
    let best = 0;
    for (let at = 1; at < palette.length; at += 1) if (far(one, palette[at]) < far(one, palette[best])) best = at;
    nearest.set(one, best);
  }
  const indices = new Uint8Array(pixels.length / 4);
  for (let at = 0; at < indices.length; at += 1) indices[at] = nearest.get(colour(at * 4));
  return { width: image.width, height: image.height, palette, indices: indices.toBase64() };
}
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """How far two pictures are apart."""

    sizes: tuple[int, int, int, int]
    differing: int
    worst: int
    """Pixels that differ in the block where most do."""
    at: tuple[int, int]

    @property
    def is_tolerable(self) -> bool:
        width, height, *_ = self.sizes
        return 0 <= self.differing <= SHARE * width * height and self.worst <= BLOCK_PIXELS

    def __str__(self) -> str:
        width, height, *reference = self.sizes
        if self.differing < 0:
            return f"it is {width} × {height}, the reference {reference[0]} × {reference[1]}"
        x, y = self.at
        return f"{self.differing} pixels differ, {self.worst} of them in the {BLOCK} × {BLOCK} at ({x}, {y})"


async def compare(page: Page, actual: bytes, reference: bytes) -> Difference:
    """Compare two PNG pictures on a page without a policy of its own, such as about:blank."""
    found = cast("dict[str, Any]", await page.evaluate(SCRIPT, [_text(actual), _text(reference), CHANNEL, BLOCK]))
    return Difference(tuple(found["sizes"]), found["differing"], found["worst"], tuple(found["at"]))


async def small(page: Page, picture: bytes) -> bytes:
    """The same picture in 256 colours, the frequent and the distinct ones: a third of the size, and no eye sees it."""
    found = cast("dict[str, Any]", await page.evaluate(PALETTE, _text(picture)))
    width, height = found["width"], found["height"]
    indices = base64.b64decode(found["indices"])
    rows = b"".join(b"\0" + indices[at * width : (at + 1) * width] for at in range(height))
    palette = b"".join(colour.to_bytes(3, "big") for colour in found["palette"])
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", header), (b"PLTE", palette), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
