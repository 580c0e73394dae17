/** Yields the bytes of a text in pieces that may end inside a character, always at the same places. */
export async function* chunksOf(text: string): AsyncGenerator<Buffer> {
  yield* piecesOf(text);
}

/** Yields the same pieces for synchronous readers. */
export function* piecesOf(text: string): Generator<Buffer> {
  const bytes = Buffer.from(text);
  let step = bytes.length;
  for (let at = 0; at < bytes.length; at += step) {
    step = 1 + ((step * 31 + (bytes[at] ?? 0)) % 97);
    yield bytes.subarray(at, at + step);
  }
}
