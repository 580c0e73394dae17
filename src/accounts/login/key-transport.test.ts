import { expect, test } from 'vitest';
import { Secret } from '../../lib/secret.ts';
import type { Transport, TransportRequest } from '../../lib/transport.ts';
import { KeyHolder, type KeyUse, keyTransport } from './key-transport.ts';

const request = (method: string): TransportRequest => ({
  method,
  origin: 'https://market.example',
  path: '/api/v0/instances/',
  headers: { Authorization: 'Bearer unset', accept: '*/*' },
});

const held = (name: string, use: KeyUse, mayDestroy = true) => ({ key: new Secret(name), use, mayDestroy });

function recording(holder: KeyHolder) {
  const sent: TransportRequest[] = [];
  const inner: Transport = async (message) => {
    sent.push(message);
    return { status: 200, headers: {}, body: (async function* () {})(), destroy() {} };
  };
  return { sent, send: keyTransport(inner, holder) };
}

test('the key in force takes the place of whatever the client put in', async () => {
  const holder = new KeyHolder();
  holder.set('a', held('first', 'full'));
  const { sent, send } = recording(holder);
  await send(request('GET'));
  holder.set('a', held('second', 'full'));
  await send(request('GET'));
  expect(sent.map(({ headers }) => headers)).toEqual([
    { accept: '*/*', authorization: 'Bearer first' },
    { accept: '*/*', authorization: 'Bearer second' },
  ]);
});

test.each(['GET', 'DELETE'])('a kept key may %s', async (method) => {
  const holder = new KeyHolder();
  holder.set('a', held('kept', 'teardown'));
  const { sent, send } = recording(holder);
  await send(request(method));
  expect(sent).toHaveLength(1);
});

test.each(['PUT', 'POST'])('a kept key may not %s, and nothing is sent', async (method) => {
  const holder = new KeyHolder();
  holder.set('a', held('kept', 'teardown'));
  const { sent, send } = recording(holder);
  await expect(send(request(method))).rejects.toMatchObject({ name: 'TransportError', sent: false });
  expect(sent).toHaveLength(0);
});

test('without a proven key nothing is sent', async () => {
  const holder = new KeyHolder();
  holder.set('a', held('gone', 'full'));
  holder.remove('a');
  const { sent, send } = recording(holder);
  await expect(send(request('GET'))).rejects.toMatchObject({ sent: false });
  expect(sent).toHaveLength(0);
});

test.each([
  ['GET', ['narrow', 'kept', 'own'], 'own'],
  ['DELETE', ['narrow', 'kept', 'own'], 'own'],
  ['PUT', ['narrow', 'kept', 'own'], 'own'],
  ['GET', ['narrow', 'kept'], 'kept'],
  ['DELETE', ['narrow', 'kept'], 'kept'],
  ['PUT', ['kept', 'narrow'], 'narrow'],
  ['DELETE', ['narrow'], 'narrow'],
] as const)(
  'for a %s of several accounts of one login, %j, the most capable key is taken',
  (method, names, taken) => {
    const holder = new KeyHolder();
    for (const name of names)
      holder.set(name, held(name, name === 'kept' ? 'teardown' : 'full', name !== 'narrow'));
    expect(holder.inForce(method)?.key.reveal()).toBe(taken);
  },
);
