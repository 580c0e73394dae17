import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../../test/builders/simulated-service.ts';

const FOLDER = 'var/tmp/.gpurental';
/** Start of a script that tries the key of its machine. */
const LINE = `( (d=\${GPURENTAL_DIR:-/${FOLDER}} n=0;mkdir -p "$d";cd "$d")&)`;
const PACKED = `f=$(mktemp)&&echo ${gzipSync(`${LINE}\n${'# a long script\n'.repeat(9)}`).toString('base64')}|base64 -d|gzip -d>$f&&sh $f`;

/** Rents a machine, and returns calls to it. */
async function rented({ call, advance }: SimulatedService, body: object) {
  const { body: found } = await call('POST /api/v0/bundles/', { limit: 1 });
  const reply = await call(`PUT /api/v0/asks/${found.offers[0].id}/`, { image: 'x', disk: 10, ...body });
  const id: number = reply.body.new_contract;
  const run = async (command: string) => {
    const { body: answer } = await call(`PUT /api/v0/instances/command/${id}/`, { command });
    const { pathname, search } = new URL(answer.result_url);
    return String((await call(`GET ${pathname}${search}`)).body);
  };
  const set = (state: string) => call(`PUT /api/v0/instances/${id}/`, { state });
  advance(1);
  return { run, set };
}

const service = (containers: { imageHasClient?: boolean } = {}, scale = 0) =>
  simulatedService({ settings: { boot: { scale }, containers } });

describe('a modelled machine whose script tries its own key', () => {
  test.each([
    ['plain', LINE],
    ['packed', PACKED],
  ])('has proved it when the text is %s', async (_, onstart) => {
    const { run } = await rented(service(), { onstart });
    expect(await run(`ls ${FOLDER}`)).toBe('ok\nt\n');
    expect(await run('ls root')).toBe('onstart.sh\n');
  });

  test('has not proved it when images have no client', async () => {
    const { run } = await rented(service({ imageHasClient: false }), { onstart: LINE });
    expect(await run(`ls ${FOLDER}`)).toBe('t\n');
  });

  test('has no such file before it runs', async () => {
    const market = service({}, 1);
    const { run } = await rented(market, { onstart: LINE });
    expect(await run('ls var/tmp')).toBe('');
    market.advance(600);
    expect(await run(`ls ${FOLDER}`)).toBe('ok\nt\n');
  });

  test('keeps the proof over a stop, and creates it again at a start', async () => {
    const market = service();
    const { run, set } = await rented(market, { onstart: LINE });
    await set('stopped');
    expect(await run(`ls ${FOLDER}`)).toBe('ok\nt\n');
    await run(`rm -r ${FOLDER}`);
    expect(await run('ls var/tmp')).toBe('');
    await set('running');
    market.advance(1);
    expect(await run(`ls ${FOLDER}`)).toBe('ok\nt\n');
  });
});

test.each([
  ['has no fuse', { onstart: 'date' }],
  ['is no valid archive', { onstart: `echo ${'A'.repeat(200)}|base64 -d` }],
  ['does not run in mode args', { runtype: 'args', onstart: LINE }],
])('a modelled machine has no proof when its script %s', async (_, body) => {
  const { run } = await rented(service(), body);
  expect(await run('ls var/tmp')).toBe('');
});
