import { describe, expect, test } from 'vitest';
import { keyOf, type SecretObject } from './api-keys.ts';

const secret = (data: Record<string, string>): SecretObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'key' },
  data: Object.fromEntries(
    Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
  ),
});

describe('scenario 34: what a user puts into the Secret', () => {
  test.each([
    ['a key', 'abc123', 'abc123'],
    ['a key with a final newline', 'abc123\n', 'abc123'],
    ['a key with white space around it', '  abc123\r\n', 'abc123'],
  ])('%s is read', (_, text, key) => {
    const reading = keyOf(secret({ 'api-key': text }), 'key', 'api-key');
    expect(reading.type === 'key' && reading.key.reveal()).toBe(key);
  });

  test.each([
    ['nothing', '', 'it is empty'],
    ['only a newline', '\n', 'it is empty'],
    ['two lines', 'abc\ndef', 'it contains spaces, line breaks or characters outside ASCII'],
    ['letters outside ASCII', 'clé', 'it contains spaces, line breaks or characters outside ASCII'],
    ['far too much', 'x'.repeat(5000), 'it is longer than 4096 characters'],
  ])('%s is refused with its cause', (_, text, problem) => {
    expect(keyOf(secret({ 'api-key': text }), 'key', 'api-key')).toEqual({
      type: 'invalid',
      secret: 'key',
      key: 'api-key',
      problem,
    });
  });

  test.for(['constructor', '__proto__'])('a key named %s is missing like any other (C1)', (key) => {
    expect(keyOf(secret({ token: 'x' }), 'key', key)).toMatchObject({
      type: 'keyMissing',
      present: ['token'],
    });
  });

  test('names the keys that exist when the key name is wrong', () => {
    expect(keyOf(secret({ token: 'x', other: 'y' }), 'key', 'api-key')).toEqual({
      type: 'keyMissing',
      secret: 'key',
      key: 'api-key',
      present: ['other', 'token'],
    });
  });

  test('names a Secret that is missing', () => {
    expect(keyOf(undefined, 'key', 'api-key')).toEqual({ type: 'secretMissing', secret: 'key' });
  });
});
