import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Desk, desk } from './desk.ts';

/* A word that cannot be right is refused at once, with the words or places that are. */

let here: Desk;
beforeAll(async () => {
  here = await desk();
  here.account('default');
  here.put('gpuinstances', {
    metadata: { name: 'new' },
    spec: { image: 'x', offers: [{ maxPricePerHour: '1' }] },
  });
  here.status('gpuinstances', 'new', {
    observedGeneration: 1,
    phase: 'Running',
    conditions: [
      {
        ...{ type: 'Ready', status: 'True', reason: 'Ready', message: 'All is well.' },
        lastTransitionTime: '2026-11-01T00:00:00Z',
      },
    ],
  });
});
afterAll(() => here.close());

const gpuRent = (line: string) => here.cluster.cli.run(line.split(' '));

test.each([
  [
    'gpui/new',
    'condition=Bogus',
    'One of: Ready, Reconciling, Stalled, Rented, Running, Succeeded, OverBudget, ReplacementBlocked, Idle, LifeFuseFixed, LeaseAtRisk.',
  ],
  ['gpui/new', 'condition=Ready=Maybe', 'One of: True, False, Unknown.'],
  ['gpui/new', 'phase=Bogus', 'One of: Pending, Renting, '],
  ['gpui/new', 'phase', 'One of: Pending, Renting, '],
  ['epg/x', 'phase=Stopped', 'One of: Pending, Scaling, '],
  ['epg/x', 'condition=Rented', 'MetricsAvailable'],
  ['gpubudget/team', 'condition=Authenticated', 'One of: Ready, Exceeded.'],
  ['gpubudget/team', 'phase=Running', 'this kind has no phase'],
  ['gpuacct/default', 'phase=Running', 'this kind has no phase'],
  ['gpui/new', 'rain', 'is none of ready, delete, condition=Type[=Value], phase=Phase'],
])('wait %s --for %s ends at once with what may be waited for', async (object, goal, words) => {
  const { exitCode, stderr } = await gpuRent(`wait ${object} --for ${goal} --timeout 60s`);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(words);
});

test.each([
  ['condition=ready=false', 'gpui/new was not Ready=False within 1s: Ready is True (Ready): All is well.'],
  ['condition=Rented', 'gpui/new was not Rented=True within 1s: It has no condition Rented.'],
  ['phase=stopped', 'gpui/new was not Stopped within 1s: Its phase is Running.'],
])('wait --for %s that does not come true shows the present state', async (goal, said) => {
  const { exitCode, stderr } = await gpuRent(`wait gpui/new --for ${goal} --timeout 1s`);
  expect(exitCode).toBe(4);
  expect(stderr).toContain(said);
});

test.each([
  ['--url', 'notaurl', {}],
  ['--url', 'ftp://example.com', {}],
  ['GPU_RENT_URL', 'notaurl', { GPU_RENT_URL: 'notaurl' }],
])('%s %s is not an address of a marketplace', async (name, text, env) => {
  const option = name === '--url' ? ['--url', text] : [];
  const { exitCode, stderr } = await here.cluster.cli.run(['show', 'user', ...option], { env });
  expect(exitCode).toBe(2);
  expect(stderr).toContain(`Error: ${name}: "${text}" is not an address of a marketplace.`);
});

test('a marketplace that our rules refuse is named with the rule, and without a configuration that does not exist', async () => {
  const { exitCode, stderr } = await gpuRent('show user --url http://example.com');
  expect(exitCode).toBe(1);
  expect(stderr).toContain(
    'Error: The marketplace at http://example.com was not called: https is required outside loopback.',
  );
  expect(stderr).not.toContain('configuration');
});

test.each(['/nonexistent/folder/x.tar.gz', '/dev/null/x'])(
  'a report that cannot be written to %s says so',
  async (path) => {
    const { exitCode, stderr } = await gpuRent(`report --to ${path}`);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      new RegExp(`^Error: The report cannot be written to ${path} \\((ENOENT|ENOTDIR)\\)\\.$`, 'm'),
    );
    expect(stderr).toContain('What to do: Name a folder that exists');
  },
);
