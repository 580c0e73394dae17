/** The bytes of a text in pieces whose ends lie anywhere, also inside of a character, and always at the same places. */
export async function* chunksOf(text: string): AsyncGenerator<Buffer> {
  yield* piecesOf(text);
}

/** The same for readers that wait for nothing. */
export function* piecesOf(text: string): Generator<Buffer> {
  const bytes = Buffer.from(text);
  let step = bytes.length;
  for (let at = 0; at < bytes.length; at += step) {
    step = 1 + ((step * 31 + (bytes[at] ?? 0)) % 97);
    yield bytes.subarray(at, at + step);
  }
}
