// Makes the PNG of a screenshot smaller: 256 colours, which no eye tells from all of them in a
// picture of a page, and the best compression.

import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COLOURS_MAX = 256;
/** Colours nearer than this, as a squared distance, need no place of their own. */
const NEAR = 40;

interface Image {
  width: number;
  height: number;
  /** One number a pixel: 0xRRGGBB. */
  pixels: Uint32Array;
}

export function smaller(png: Buffer): Buffer {
  const image = decoded(png);
  const palette = paletteOf(image.pixels);
  return encoded(image, palette);
}

/** Of RGB or RGBA with 8 bits, not interlaced: what Chromium writes. */
function decoded(png: Buffer): Image {
  const parts: Buffer[] = [];
  let [width, height, channels] = [0, 0, 0];
  for (let at = SIGNATURE.length; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const kind = png.toString("latin1", at + 4, at + 8);
    const data = png.subarray(at + 8, at + 8 + png.readUInt32BE(at));
    if (kind === "IDAT") parts.push(data);
    if (kind !== "IHDR") continue;
    [width, height] = [data.readUInt32BE(0), data.readUInt32BE(4)];
    channels = data[9] === 6 ? 4 : data[9] === 2 ? 3 : 0;
    if (data[8] !== 8 || channels === 0 || data[12] !== 0) throw new Error("not a PNG as Chromium writes it");
  }
  const bytes = unfiltered(inflateSync(Buffer.concat(parts)), width * channels, height, channels);
  const pixels = Uint32Array.from({ length: width * height }, (_, at) => {
    const from = at * channels;
    return ((bytes[from] ?? 0) << 16) | ((bytes[from + 1] ?? 0) << 8) | (bytes[from + 2] ?? 0);
  });
  return { width, height, pixels };
}

/** Undoes the filters of the rows (PNG specification, section 9). */
function unfiltered(raw: Buffer, length: number, height: number, step: number): Uint8Array {
  const out = new Uint8Array(length * height);
  for (let row = 0; row < height; row += 1) {
    const filter = raw[row * (length + 1)];
    for (let i = 0; i < length; i += 1) {
      const at = row * length + i;
      const left = i >= step ? (out[at - step] ?? 0) : 0;
      const up = row > 0 ? (out[at - length] ?? 0) : 0;
      const corner = i >= step && row > 0 ? (out[at - length - step] ?? 0) : 0;
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter ?? 0] ?? 0;
      out[at] = (raw[row * (length + 1) + 1 + i] ?? 0) + guess;
    }
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

/** Each colour of the picture, and its place among those that are kept: the commonest first. */
function paletteOf(pixels: Uint32Array): { kept: number[]; places: Map<number, number> } {
  const counts = new Map<number, number>();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const all = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([colour]) => colour);
  const kept: number[] = [];
  for (const colour of all) {
    if (kept.length === COLOURS_MAX) break;
    if (kept.every((other) => distance(colour, other) > NEAR)) kept.push(colour);
  }
  return { kept, places: new Map(all.map((colour) => [colour, nearest(colour, kept)])) };
}

function nearest(colour: number, kept: number[]): number {
  let best = 0;
  kept.forEach((other, place) => {
    if (distance(colour, other) < distance(colour, kept[best] ?? 0)) best = place;
  });
  return best;
}

function distance(a: number, b: number): number {
  const [r, g, blue] = [(a >> 16) - (b >> 16), ((a >> 8) & 255) - ((b >> 8) & 255), (a & 255) - (b & 255)];
  return r * r + g * g + blue * blue;
}

function encoded({ width, height, pixels }: Image, { kept, places }: ReturnType<typeof paletteOf>): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const rows = Buffer.alloc((width + 1) * height);
  pixels.forEach((pixel, at) => {
    rows[Math.floor(at / width) * (width + 1) + 1 + (at % width)] = places.get(pixel) ?? 0;
  });
  const palette = Buffer.from(kept.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([
    SIGNATURE, chunk("IHDR", head), chunk("PLTE", palette),
    chunk("IDAT", deflateSync(rows, { level: 9, memLevel: 9 })), chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(kind: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
  const made = Buffer.alloc(body.length + 8);
  made.writeUInt32BE(data.length, 0);
  body.copy(made, 4);
  made.writeUInt32BE(crc32(body), body.length + 4);
  return made;
}
