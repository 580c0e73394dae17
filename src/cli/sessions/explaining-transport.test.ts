import { expect, test } from 'vitest';
import { answeringTransport, reply } from '../../../test/builders/answering-transport.ts';
import { explainingTransport } from './explaining-transport.ts';

const CANARY = 'canary-7f3a';

/** The lines that are shown of one call whose key stands in every place where keys are sent. */
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
