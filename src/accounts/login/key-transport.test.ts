import { expect, test } from 'vitest';
import { Secret } from '../../lib/secret.ts';
import type { Transport, TransportRequest } from '../../lib/transport.ts';
import { KeyHolder, keyTransport } from './key-transport.ts';

const request = (method: string): TransportRequest => ({
  method,
  origin: 'https://market.example',
  path: '/api/v0/instances/',
  headers: { Authorization: 'Bearer unset', accept: '*/*' },
});

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
  holder.set('a', new Secret('first'), 'full');
  const { sent, send } = recording(holder);
  await send(request('GET'));
  holder.set('a', new Secret('second'), 'full');
  await send(request('GET'));
  expect(sent.map(({ headers }) => headers)).toEqual([
    { accept: '*/*', authorization: 'Bearer first' },
    { accept: '*/*', authorization: 'Bearer second' },
  ]);
});

test.each(['GET', 'DELETE'])('a kept key may %s', async (method) => {
  const holder = new KeyHolder();
  holder.set('a', new Secret('kept'), 'teardown');
  const { sent, send } = recording(holder);
  await send(request(method));
  expect(sent).toHaveLength(1);
});

test.each(['PUT', 'POST'])('a kept key may not %s, and nothing is sent', async (method) => {
  const holder = new KeyHolder();
  holder.set('a', new Secret('kept'), 'teardown');
  const { sent, send } = recording(holder);
  await expect(send(request(method))).rejects.toMatchObject({ name: 'TransportError', sent: false });
  expect(sent).toHaveLength(0);
});

test('without a proven key nothing is sent', async () => {
  const holder = new KeyHolder();
  holder.set('a', new Secret('gone'), 'full');
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
  (method, held, taken) => {
    const holder = new KeyHolder();
    for (const name of held)
      holder.set(name, new Secret(name), name === 'kept' ? 'teardown' : 'full', {
        mayDestroy: name !== 'narrow',
      });
    expect(holder.inForce(method)?.key.reveal()).toBe(taken);
  },
);
