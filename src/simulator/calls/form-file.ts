/*
 * The file of an upload: the part of a multipart form (RFC 7578) that has a file name, byte for byte, or
 * the whole body where it is no form. PURE.
 */

/** The bytes of the file that an upload of that content type carries. */
export function fileOf(body: Uint8Array, contentType: string): Uint8Array {
  const boundary = boundaryOf(contentType);
  if (boundary === undefined) return body;
  const form = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const parts = partsOf(form, boundary);
  return (parts.find(({ head }) => /filename=/i.test(head)) ?? parts.at(-1))?.content ?? new Uint8Array();
}

interface Part {
  readonly head: string;
  readonly content: Uint8Array;
}

function boundaryOf(contentType: string): string | undefined {
  if (!/^multipart\/form-data\b/i.test(contentType)) return undefined;
  const found = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType);
  return found?.[1] ?? found?.[2];
}

/** Each part lies between two delimiters; the line break before a delimiter belongs to it. */
function partsOf(form: Buffer, boundary: string): readonly Part[] {
  const parts: Part[] = [];
  let from = form.indexOf(`--${boundary}`);
  while (from !== -1) {
    const begin = from + boundary.length + 2;
    const end = form.indexOf(`\r\n--${boundary}`, begin);
    const headEnd = form.indexOf('\r\n\r\n', begin);
    if (end === -1 || headEnd === -1) break;
    const content = headEnd + 4 > end ? form.subarray(end, end) : form.subarray(headEnd + 4, end);
    parts.push({ head: form.toString('latin1', begin, headEnd), content });
    from = end + 2;
  }
  return parts;
}
