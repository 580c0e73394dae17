import { spawnSync } from 'node:child_process';
import { afterEach, describe, expect, test } from 'vitest';
import { resultInFiles, resultInLog } from '../../src/instance/run-result.ts';
import { type RunProgram, runText } from '../../src/instance/run-text.ts';
import { vastFacts } from '../../src/markets/vast/facts.ts';
import type { Listening } from '../../src/simulator/http-server.ts';
import type { Settings } from '../../src/simulator/settings.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';

/* Programs that run to their end on machines that are processes, read as the operator reads them. */

let listening: Listening | undefined;
afterEach(async () => {
  await listening?.close();
  listening = undefined;
});

const NONCE = 'k3v9x0q2m7ab';

/** Rents a machine that runs a program to its end, and returns calls to it. */
async function rented(
  program: RunProgram,
  {
    containers = {},
    isFirstProcess = false,
  }: { containers?: Partial<Settings['containers']>; isFirstProcess?: boolean },
) {
  const simulator = createSimulator({
    apiKey: 'k',
    catalog: [{ id: 1 }],
    runMachines: { max: 2, report: () => undefined },
    settings: {
      pauses: { scale: 0 },
      boot: { scale: 0 },
      containers: { stopGraceSeconds: 2, ...containers },
    },
  });
  listening = await simulator.listen();
  const { url } = listening;
  const call = async (spec: string, body?: object) => {
    const [method = '', path = ''] = spec.split(' ');
    const headers = { authorization: 'Bearer k' };
    const reply = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    // oxlint-disable-next-line typescript/no-explicit-any -- replies are read by name
    return (await reply.json()) as any;
  };
  const textOf = async (spec: string, body: object) => {
    const { result_url } = await call(spec, body);
    return result_url === undefined ? undefined : (await fetch(result_url)).text();
  };
  const { selfEnd: facts } = vastFacts;
  const fuses = isFirstProcess ? {} : { lifeSeconds: 90_000 };
  const text = facts && runText({ url, facts, fuses, nonce: NONCE, program, isFirstProcess });
  const launch = isFirstProcess ? { runtype: 'args', onstart: 'sh', args: ['-c', text] } : { onstart: text };
  const { new_contract: id } = await call('PUT /api/v0/asks/1/', { image: 'x', disk: 10, ...launch });
  const log = () => textOf(`PUT /api/v0/instances/request_logs/${id}/`, { tail: '2000' });
  const ls = async (path: string) =>
    (await textOf(`PUT /api/v0/instances/command/${id}/`, { command: `ls ${path}` })) ?? '';
  return {
    log,
    ls,
    status: async () => (await call(`GET /api/v0/instances/${id}/`)).instances?.actual_status,
    set: (state: string) => call(`PUT /api/v0/instances/${id}/`, { state }),
    /** Reads the result as the operator does: from the log, and if it is not there, from the files. */
    result: async () => {
      const logged = resultInLog((await log()) ?? '', NONCE);
      if (logged) return { from: 'log', exitCode: logged.exitCode, isWhole: logged.isWhole, log: logged.log };
      const files = `${await ls('/var/tmp/.gpurental')}${await ls('var/tmp/.gpurental')}`;
      return { from: 'files', exitCode: resultInFiles(files, NONCE) };
    },
  };
}

const script = (text: string): RunProgram => ({ type: 'script', text });
const WAIT = { timeout: 30_000, interval: 100 };
const WHOLE = { from: 'log', exitCode: 7, isWhole: true, log: 'one\ntwo\n' };
const TWO_LINES = script('echo one\necho two\nexit 7\n');

const CAN_ISOLATE =
  process.platform === 'linux' && spawnSync('unshare', ['--mount', '--pid', '--fork', 'true']).status === 0;

describe.runIf(CAN_ISOLATE)('a program that runs to its end on a real machine', { timeout: 60_000 }, () => {
  test.each<[Partial<Settings['containers']>, object]>([
    [{ onstartInLog: true }, WHOLE],
    [{ onstartInLog: false }, WHOLE],
    [{ exitedRestarts: true }, WHOLE],
    [{ exitedRestarts: false }, WHOLE],
    [
      { commandPaths: 'absolute', logsWhenStopped: false },
      { from: 'files', exitCode: 7 },
    ],
    [
      { commandPaths: 'relative', logsWhenStopped: false },
      { from: 'files', exitCode: 7 },
    ],
    [{ logsWhenStopped: true }, WHOLE],
    [{ argsOnstart: 'ignored' }, WHOLE],
  ])('with %j stops its machine and leaves the result', async (containers, result) => {
    const machine = await rented(TWO_LINES, { containers });
    await expect.poll(machine.status, WAIT).toBe('stopped');
    expect(await machine.result()).toEqual(result);
  });

  const long = script('i=0; while [ $i -lt 3000 ]; do echo $((i += 1)); done; exit 7\n');

  test.each<[Settings['containers']['logTruncated'], object]>([
    ['never', { from: 'log', exitCode: 7, isWhole: false }],
    ['begin', { from: 'log', exitCode: 7, isWhole: false }],
    ['end', { from: 'files', exitCode: 7 }],
  ])('and prints much leaves the result when logTruncated is %s', async (logTruncated, result) => {
    const machine = await rented(long, { containers: { logTruncated } });
    await expect.poll(machine.status, WAIT).toBe('stopped');
    const { log, ...rest } = { log: '', ...(await machine.result()) };
    expect(rest).toEqual(result);
    expect(log.endsWith('2999\n3000\n')).toBe(logTruncated !== 'end');
  });

  test('does not run again when a person starts the machine', async () => {
    const machine = await rented(TWO_LINES, {});
    await expect.poll(machine.status, WAIT).toBe('stopped');
    await machine.set('running');
    const markers = async () => ((await machine.log()) ?? '').split(' exit 7\n').length - 1;
    await expect.poll(markers, WAIT).toBeGreaterThan(1);
    await expect.poll(machine.status, WAIT).toBe('stopped');
    expect(await machine.result()).toEqual(WHOLE);
    expect(((await machine.log()) ?? '').split('one\n')).toHaveLength(2);
  });

  test('writes its checkpoint at a stop, and runs again with the next attempt', async () => {
    const waiting = [
      "trap 'echo checkpoint; exit 0' TERM",
      'echo "attempt $GPURENTAL_ATTEMPT <$RESUME>"',
      '[ "$GPURENTAL_ATTEMPT" = 2 ] && exit 5',
      'while :; do sleep 0.1; done',
      '',
    ].join('\n');
    const machine = await rented(script(waiting), {});
    await expect.poll(machine.log, WAIT).toContain('attempt 1 <>');
    await machine.set('stopped');
    await expect.poll(machine.log, WAIT).toContain('checkpoint');
    expect(await machine.result()).toEqual({ from: 'files', exitCode: undefined });
    await machine.set('running');
    await expect.poll(async () => (await machine.result()).exitCode, WAIT).toBe(5);
    await expect.poll(machine.status, WAIT).toBe('stopped');
    expect(await machine.result()).toMatchObject({ log: 'attempt 2 <1>\n' });
  });

  test('as the first process stops its machine and leaves the result', async () => {
    const machine = await rented(
      { type: 'words', words: ['printf', 'one\\ntwo\\n'] },
      { isFirstProcess: true },
    );
    await expect.poll(machine.status, WAIT).toBe('stopped');
    expect(await machine.result()).toEqual({ ...WHOLE, exitCode: 0 });
  });
});
