import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { CommandContext } from '../command.ts';
import { changeOneByOne } from './one-by-one.ts';
import { createOutput } from './output.ts';

async function changed(output: string | undefined, ids: readonly string[], failing?: string) {
  const stdout = new PassThrough();
  const context = { stdout, env: {} } as unknown as CommandContext;
  const change = async (name: string) => {
    if (name === failing) throw new Error(`${name} is not there`);
    return { kind: 'instance', name, did: 'stopped' };
  };
  const failure = await changeOneByOne(createOutput({ args: [], options: { output } }, context), ids, change)
    .then(() => undefined)
    .catch((error: Error) => error.message);
  return { said: await text(stdout.end()), failure };
}

const report = (id: string) => ({ kind: 'instance', id, did: 'stopped' });

describe.each([
  ['json', (said: string): unknown => JSON.parse(said)],
  ['yaml', (said: string): unknown => parse(said)],
] as const)('-o %s', (format, read) => {
  test('of one thing is its report', async () => {
    const { said, failure } = await changed(format, ['1']);
    expect({ said: read(said), failure }).toEqual({ said: report('1'), failure: undefined });
  });

  test('of several things is one list', async () => {
    expect(read((await changed(format, ['1', '2'])).said)).toEqual([report('1'), report('2')]);
  });

  test('holds what was done before one failed, and the failure is thrown', async () => {
    const { said, failure } = await changed(format, ['1', '2', '3', '4'], '3');
    expect({ said: read(said), failure }).toEqual({
      said: [report('1'), report('2')],
      failure: '3 is not there\nThat was 3. Not tried after it: 4.',
    });
  });

  test('of several things of which one was done is a list, too', async () => {
    expect(read((await changed(format, ['1', '2'], '2')).said)).toEqual([report('1')]);
  });

  test('fails in its own words alone where it is about one thing', async () => {
    expect((await changed(format, ['1'], '1')).failure).toBe('1 is not there');
  });

  test('is nothing where the first one failed', async () => {
    expect(await changed(format, ['1', '2'], '1')).toEqual({
      said: '',
      failure: '1 is not there\nThat was 1. Not tried after it: 2.',
    });
  });
});

test.each([
  [undefined, 'instance/1 stopped\ninstance/2 stopped\n'],
  ['name', 'instance/1\ninstance/2\n'],
])('people and pipes read one line after another (-o %s)', async (format, said) => {
  expect(await changed(format, ['1', '2', '3'], '3')).toEqual({
    said,
    failure: '3 is not there\nThat was 3, the last of them.',
  });
});
