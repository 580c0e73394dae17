import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fileOf } from './body.ts';

const form = (boundary: string, file: Uint8Array): Buffer =>
  Buffer.concat([
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="key"\r\n\r\nuploads/1/1\r\n` +
        `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.tgz"\r\n` +
        'Content-Type: application/gzip\r\n\r\n',
    ),
    file,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);

describe('the file of an upload', () => {
  test('is the part with a file name, byte for byte, whatever its bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const found = fileOf(form('b0und', bytes), 'multipart/form-data; boundary=b0und');
        expect(Buffer.from(found)).toEqual(Buffer.from(bytes));
      }),
    );
  });

  test('may contain line breaks and what looks like a delimiter without one', () => {
    const bytes = Buffer.from('\r\n\r\n--b0und\r\n'.slice(2));
    expect(Buffer.from(fileOf(form('other', bytes), 'multipart/form-data; boundary="other"'))).toEqual(bytes);
  });

  test('takes the whole body when it is not a form', () => {
    const bytes = Uint8Array.of(0, 255, 13, 10);
    expect(fileOf(bytes, 'application/octet-stream')).toEqual(bytes);
  });

  test.for(['', '--b', '--b\r\n\r\n', '--b\r\n\r\n\r\n--b', '--b--'])(
    'of a broken form is empty: %o',
    (text) => {
      expect(fileOf(Buffer.from(text), 'multipart/form-data; boundary=b')).toHaveLength(0);
    },
  );
});
