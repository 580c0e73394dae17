import { describe, expect, test } from 'vitest';
import { answeringTransport, reply } from '../../../test/builders/answering-transport.ts';
import { explainingTransport, redactedBody, redactSecrets } from './explaining-transport.ts';

const CANARY = 'canary-7f3a';

/** Returns the lines shown for one call whose key is in every place where keys are sent. */
async function shown(answer: unknown): Promise<readonly string[]> {
  const lines: string[] = [];
  const { transport } = answeringTransport(reply(answer));
  const response = await explainingTransport(transport, (line) => lines.push(line))({
    method: 'POST',
    origin: 'https://market.example',
    path: `/route/?api_key=${CANARY}&x=1`,
    headers: { authorization: `Bearer ${CANARY}` },
    body: JSON.stringify({ api_key: CANARY, cost: 7 }),
  });
  for await (const _chunk of response.body);
  return lines;
}

test('a call and its reply are shown without the keys in address, header and bodies', async () => {
  expect(await shown({ url: 'http://w', instance_api_key: CANARY })).toEqual([
    '> POST https://market.example/route/?api_key=[redacted]&x=1',
    '> Authorization: Bearer [redacted]',
    '> {"api_key":"[redacted]","cost":7}',
    expect.stringMatching(/^< 200 POST \/route\/\?api_key=\[redacted\]&x=1 \(\d+ bytes\)$/),
    '< {"url":"http://w","instance_api_key":"[redacted]"}',
  ]);
});

const SECRET = 'canary-4711';

describe('a field is not shown', () => {
  test.each([
    'api_key',
    'new_api_key',
    'instance_api_key',
    'session_key',
    'jupyter_token',
    'key',
    'value',
    'secret',
    'code',
    'backup_code',
    'provisioning_uri',
    'image_login',
    'docker_login_pass',
    'mtoken',
    'signature',
    'password',
    'token',
  ])('that is named %s', (name) => {
    const shown = redactedBody(JSON.stringify({ outer: [{ [name]: SECRET, beside: 1 }] }));
    expect(JSON.parse(shown)).toEqual({ outer: [{ [name]: '[redacted]', beside: 1 }] });
  });

  test.each(['onstart', 'env', 'extra_env', 'args', 'args_str'])('of free form: %s', (name) => {
    expect(redactSecrets({ [name]: SECRET })).toEqual({ [name]: '[11 characters]' });
    expect(redactSecrets({ [name]: [SECRET, SECRET] })).toEqual({ [name]: '[2 entries]' });
    expect(redactSecrets({ [name]: { MODEL: SECRET } })).toEqual({ [name]: { MODEL: '[redacted]' } });
  });

  test('that lists codes, each of them', () => {
    expect(redactSecrets({ backup_codes: [SECRET, SECRET] })).toEqual({
      backup_codes: ['[redacted]', '[redacted]'],
    });
  });
});

describe('what is shown', () => {
  test.each([
    [
      'objects named like a secret, without the secrets in them',
      { key: { id: 7, key: SECRET } },
      { key: { id: 7, key: '[redacted]' } },
    ],
    ['empty fields', { api_key: '', token: null }, { api_key: '', token: null }],
    ['addresses', { url: 'https://host/path?page=2' }, { url: 'https://host/path?page=2' }],
    [
      'signed addresses without what signs them',
      { result_url: `https://s3.example/x.log?X-Amz-Date=1&X-Amz-Signature=${SECRET}` },
      { result_url: 'https://s3.example/x.log?[redacted]' },
    ],
  ])('%s', (_, given, shown) => {
    expect(redactSecrets(given)).toEqual(shown);
  });

  test('of text that is not JSON: all of it where it is short, else its length', () => {
    expect(redactedBody('a page')).toBe('a page');
    expect(redactedBody('x'.repeat(301))).toBe('[301 characters that are no JSON]');
  });
});

test('an explained call shows neither the key of its header, nor one in its address, its body or its reply', async () => {
  const lines: string[] = [];
  const answer = async () => ({
    status: 200,
    headers: {},
    body: (async function* () {
      yield Buffer.from(JSON.stringify({ api_key: SECRET, id: 7 }));
    })(),
    destroy() {},
  });
  const transport = explainingTransport(answer, (line) => lines.push(line));
  const response = await transport({
    method: 'POST',
    origin: 'https://market.example',
    path: `/api/v0/users/?page=2&api_key=${SECRET}&after=1`,
    headers: { authorization: `Bearer ${SECRET}` },
    body: JSON.stringify({ password: SECRET }),
  });
  for await (const chunk of response.body) expect(chunk.length).toBeGreaterThan(0);
  expect(lines).toEqual([
    '> POST https://market.example/api/v0/users/?page=2&api_key=[redacted]&after=1',
    '> Authorization: Bearer [redacted]',
    '> {"password":"[redacted]"}',
    '< 200 POST /api/v0/users/?page=2&api_key=[redacted]&after=1 (32 bytes)',
    '< {"api_key":"[redacted]","id":7}',
  ]);
});
