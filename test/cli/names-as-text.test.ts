import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { KUBECTL_YAML } from '../../src/lib/kubectl-yaml.ts';
import { type Desk, desk } from './desk.ts';

/* A name stays a text, also where YAML reads a number, a boolean or nothing. */

const WORDS = ['e1', 'e-1', '1e3', '0x10', '0b1', '0o7', '010', '1.5', 'true', 'null', 'on', 'y', 'nan'];

let here: Desk;
beforeAll(async () => {
  here = await desk();
  for (const name of WORDS) {
    here.account(name);
    here.put('gpuinstances', {
      metadata: { name },
      spec: { accountRef: { name }, image: name, offers: [{ gpuNames: [name], maxPricePerHour: '1' }] },
    });
    here.put('endpointgroups', {
      metadata: { name },
      spec: { template: { spec: { image: name, offers: [{ maxPricePerHour: '1' }] } } },
    });
  }
});
afterAll(() => here.close());

const gpuRent = (args: readonly string[], stdin = '') => here.cluster.cli.run(args, { stdin });
const read = (text: string) => parse(text, KUBECTL_YAML);

/* The rules refuse a name of a digit first, since a Service would take it. */
const isName = (word: string) => /^[a-z]/.test(word);

test.each(WORDS)('run --dry-run writes %s in each option as kubectl reads a text', async (word) => {
  const name = isName(word) ? word : `x-${word}`.replaceAll('.', '-');
  const options = ['--account', '--gpu', '--image', '-n'].flatMap((flag) => [flag, word]);
  const line = ['run', '--name', name, ...options, '--env', `A=${word}`, '--dry-run'];
  const { exitCode, stdout } = await gpuRent(line);
  expect(exitCode).toBe(0);
  expect(read(stdout)).toMatchObject({
    metadata: { name, namespace: word },
    spec: {
      accountRef: { name: word },
      offers: [{ gpuNames: [word] }],
      image: word,
      env: [{ name: 'A', value: word }],
    },
  });
});

test.each(WORDS.filter(isName))('plan -f - reads an object named %s as run writes it', async (word) => {
  const { stdout } = await gpuRent(['run', '--name', word, '--image', 'x', '--max-price', '2', '--dry-run']);
  const planned = await gpuRent(['plan', '-f', '-', '--no-cluster', '-o', 'json'], stdout);
  expect(planned.stderr).toBe('');
  expect(JSON.parse(planned.stdout)).toMatchObject([{ object: `gpui/${word}` }]);
});

test.each(WORDS.flatMap((word) => ['gpui', 'epg', 'gpuacct'].map((kind) => [kind, word] as const)))(
  'status %s/%s names the object as it is, as JSON and as YAML',
  async (kind, word) => {
    const [json, yaml] = await Promise.all(
      ['json', 'yaml'].map((form) => gpuRent(['status', `${kind}/${word}`, '-o', form])),
    );
    expect(json?.exitCode).toBe(0);
    const shown = { object: `${kind}/${word}`, namespace: 'team' };
    expect(JSON.parse(json?.stdout ?? '')).toMatchObject(shown);
    expect(read(yaml?.stdout ?? '')).toMatchObject(shown);
  },
);

test.each(WORDS)('stop and reconcile take %s as a name', async (word) => {
  for (const args of [
    ['stop', `gpui/${word}`],
    ['reconcile', 'gpui', word, '--no-wait'],
    ['reconcile', `gpuacct/${word}`, '--no-wait'],
    ['pause', `epg/${word}`],
  ]) {
    const { exitCode, stdout, stderr } = await gpuRent([...args, '-o', 'yaml']);
    expect({ args, exitCode, stderr }).toEqual({ args, exitCode: 0, stderr: '' });
    expect(read(stdout)).toMatchObject({ id: word });
  }
});

test.each(WORDS)('a file that names %s in quotes waits for that object', async (word) => {
  const file = `apiVersion: gpurental.dev/v1alpha1\nkind: GpuInstance\nmetadata: {name: "${word}"}\n`;
  const { exitCode, stderr } = await gpuRent(['wait', '-f', '-', '--timeout', '1s'], file);
  expect({ exitCode, stderr }).toEqual({
    exitCode: 4,
    stderr: expect.stringContaining(`gpui/${word} was not`),
  });
});
