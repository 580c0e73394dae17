import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import config from '../../oxlint.config.ts';

const repository = join(import.meta.dirname, '..', '..');

interface Planted {
  readonly title: string;
  readonly file: string;
  readonly source: string;
  readonly rule: string;
  readonly says?: string;
}

const PLANTED: readonly Planted[] = [
  {
    title: 'lib that imports a controller',
    file: 'src/lib/planted-up.ts',
    source: "import { x } from '../controllers/gpu-instance/x.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'lib is the ground',
  },
  {
    title: 'a simulator that borrows the client',
    file: 'src/simulator/calls/planted-client.ts',
    source: "import { x } from '../../markets/vast/http/request.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'a shared mistake would pass every test',
  },
  {
    title: 'a port that knows a market',
    file: 'src/market/planted-market.ts',
    source: "import { x } from '../markets/vast/client.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'it imports lib only, and no market',
  },
  {
    title: 'a market that imports another market',
    file: 'src/markets/vast/planted-other.ts',
    source: "import { x } from '../planted/client.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'Markets never import each other',
  },
  {
    title: 'an account that knows a market',
    file: 'src/accounts/planted-market.ts',
    source: "import { x } from '../markets/catalog.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'knows markets by their port alone',
  },
  {
    title: 'a controller that knows a market',
    file: 'src/controllers/gpu-instance/planted-market.ts',
    source: "import { x } from '../../markets/vast/facts.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'knows markets by their port alone',
  },
  {
    title: 'an instance that asks an account',
    file: 'src/instance/planted-account.ts',
    source: "import { x } from '../accounts/account-session.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'what a GpuInstance means, from the object alone',
  },
  {
    title: 'an instance that waits',
    file: 'src/instance/planted-wait.ts',
    source: 'export const read = async () => await Promise.resolve(1);\n',
    rule: 'no-async-await',
  },
  {
    title: 'a view that asks a controller',
    file: 'src/views/planted-controller.ts',
    source: "import { x } from '../controllers/gpu-instance/decide.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'from plain values',
  },
  {
    title: 'a replay that imports the inside of a controller',
    file: 'src/replay/planted-inside.ts',
    source: "import { x } from '../controllers/endpoint-group/decide.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'its public.ts only',
  },
  {
    title: 'a replay that calls the command line',
    file: 'src/replay/planted-command.ts',
    source: "import { x } from '../cli/command-error.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'from plain values',
  },
  {
    title: 'a way to a machine that asks a view',
    file: 'src/reach/planted-view.ts',
    source: "import { x } from '../views/table.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'Its callers connect',
  },
  {
    title: 'a gateway that calls a controller',
    file: 'src/gateway/planted-controller.ts',
    source: "import { x } from '../controllers/endpoint-group/decide.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'through the cluster and its reports',
  },
  {
    title: 'a controller that calls the gateway',
    file: 'src/controllers/endpoint-group/planted-gateway.ts',
    source: "import { x } from '../../gateway/picker.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'gets what it needs as arguments',
  },
  {
    title: 'a runtime that learns a GPU word',
    file: 'src/runtime/planted-gpu.ts',
    source: "import type { X } from '../api/v1alpha1/gpu-instance.ts';\nexport type Y = X;\n",
    rule: 'no-restricted-imports',
    says: 'knows no GPU word',
  },
  {
    title: 'a command that imports the inside of a controller',
    file: 'src/cli/plan/planted-inside.ts',
    source: "import { x } from '../../controllers/gpu-instance/decide.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'its public.ts only',
  },
  {
    title: 'a command that loads the inside of a controller when it runs',
    file: 'src/cli/commands/planted-inside.ts',
    source: "export const load = () => import('../../controllers/endpoint-group/autoscale/plan.ts');\n",
    rule: 'dynamic-imports',
    says: 'its public.ts only',
  },
  {
    title: 'a layer that loads what it may not import',
    file: 'src/lib/planted-load.ts',
    source: "export const load = () => import('../api/v1alpha1/names.ts');\n",
    rule: 'dynamic-imports',
    says: 'lib is the ground',
  },
  {
    title: 'a cost that counts from the wall clock',
    file: 'src/controllers/gpu-instance/rules/planted-cost.ts',
    source:
      "import { beginCost } from '../../../instance/cost.ts';\nimport type { Facts } from '../facts.ts';\nexport function cost(facts: Pick<Facts, 'clock'>) {\n  const from = facts.clock.serviceNow ?? facts.clock.now;\n  return beginCost(undefined, from, 1);\n}\n",
    rule: 'money-clock',
    says: 'clock.believedNow',
  },
  {
    title: 'an end of billing by the wall clock',
    file: 'src/controllers/gpu-instance/rules/planted-end.ts',
    source:
      "import type { Facts } from '../facts.ts';\nexport const end = ({ clock }: Pick<Facts, 'clock'>) => ({ type: 'release', endedAt: clock.now });\n",
    rule: 'money-clock',
    says: 'clock.believedNow',
  },
  {
    title: 'a controller that imports its sibling',
    file: 'src/controllers/gpu-instance/planted-sibling.ts',
    source: "import { x } from '../orphan-sweep/decide.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'they meet through the cluster',
  },
  {
    title: 'an endpoint group that calls the marketplace',
    file: 'src/controllers/endpoint-group/planted-call.ts',
    source: "import { x } from '../../market/pacing.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'never calls the marketplace',
  },
  {
    title: 'a pure file that imports code of the marketplace',
    file: 'src/controllers/gpu-instance/decide.ts',
    source: "import { x } from '../../market/pacing.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'A pure file takes values',
  },
  {
    title: 'a pure file that waits',
    file: 'src/controllers/gpu-instance/stage.ts',
    source: 'export const stage = async () => await Promise.resolve(1);\n',
    rule: 'no-async-await',
  },
  {
    title: 'a new file of a controller that waits, unless it is listed with a reason',
    file: 'src/controllers/orphan-sweep/planted-wait.ts',
    source: 'export const later = async () => await Promise.resolve(1);\n',
    rule: 'no-async-await',
  },
  {
    title: 'a new file of a controller that imports code of the runtime',
    file: 'src/controllers/marketplace-account/planted-runtime.ts',
    source: "import { x } from '../../runtime/kube/kube-client.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'A pure file takes values',
  },
  {
    title: 'a rule that calls a file with effects',
    file: 'src/controllers/gpu-instance/rules/planted-effect.ts',
    source: "import { act } from '../act.ts';\nexport const y = act;\n",
    rule: 'no-restricted-imports',
    says: 'never by a rule',
  },
  {
    title: 'a pure file that calls a file with effects beside it',
    file: 'src/controllers/endpoint-group/publish/planted-effect.ts',
    source: "import { x } from './publisher.ts';\nexport const y = x;\n",
    rule: 'no-restricted-imports',
    says: 'never by a rule',
  },
  {
    title: 'a pure file that is handed a clock',
    file: 'src/controllers/endpoint-group/scaling/planted-clock.ts',
    source:
      "import type { Clock } from '../../../lib/clock.ts';\nexport const now = (clock: Clock) => clock.now();\n",
    rule: 'no-restricted-imports',
    says: 'the time as a number',
  },
  {
    title: 'a decision that reads the clock',
    file: 'src/controllers/gpu-instance/planted-clock.ts',
    source: 'export const now = () => Date.now();\n',
    rule: 'no-restricted-properties',
    says: 'Env.clock',
  },
  {
    title: 'a promise that nothing awaits, hidden behind void (C1)',
    file: 'src/lib/planted-void.ts',
    source: 'export const start = (work: () => Promise<void>) => {\n  void work();\n};\n',
    rule: 'no-void',
  },
  {
    title: 'a promise that nothing awaits in a callback (C1)',
    file: 'src/lib/planted-callback.ts',
    source:
      'const later = (run: () => void) => run();\nexport const start = (work: () => Promise<void>) => later(() => work());\n',
    rule: 'no-misused-promises',
  },
  {
    title: 'a controller that sets a timer of its own',
    file: 'src/controllers/gpu-instance/planted-timer.ts',
    source: 'export const later = (run: () => void) => setTimeout(run, 5);\n',
    rule: 'no-restricted-globals',
  },
  {
    title: 'a controller that reads the environment',
    file: 'src/controllers/gpu-instance/planted-environment.ts',
    source: "export const key = () => process.env['KEY'];\n",
    rule: 'no-restricted-globals',
  },
  {
    title: 'a floating promise',
    file: 'src/lib/planted-floating.ts',
    source: 'const pay = async (): Promise<void> => {};\nexport const run = (): void => {\n  pay();\n};\n',
    rule: 'no-floating-promises',
  },
  {
    title: 'an open switch',
    file: 'src/lib/planted-switch.ts',
    source:
      "type T = 'a' | 'b';\nexport function f(t: T): number {\n  switch (t) {\n    case 'a':\n      return 1;\n  }\n  return 0;\n}\n",
    rule: 'switch-exhaustiveness-check',
  },
  {
    title: 'a word of its own in a name, in a folder without it so far',
    file: 'src/config/planted-name.ts',
    source: 'export const deedOf = (plan: string): string => plan;\n',
    rule: 'vocabulary',
    says: 'use action',
  },
  {
    title: 'a word of its own in the name of a file',
    file: 'src/planted/farewell.ts',
    source: 'export const x = 1;\n',
    rule: 'vocabulary',
    says: 'use teardown event',
  },
  {
    title: 'a word of its own in the title of a test',
    file: 'src/config/planted.test.ts',
    source: "import { test } from 'vitest';\ntest.each([1])('is told', () => {});\n",
    rule: 'vocabulary',
    says: 'a title',
  },
  {
    title: 'any',
    file: 'src/lib/planted-any.ts',
    source: 'export const x: any = 1;\n',
    rule: 'no-explicit-any',
  },
  {
    title: 'a promise that something is there',
    file: 'src/lib/planted-bang.ts',
    source: 'export const first = (list: number[]): number => list[0]!;\n',
    rule: 'no-non-null-assertion',
  },
];

/** File that no rule refuses. */
const ALLOWED = {
  file: 'src/cli/plan/planted-public.ts',
  source: [
    "import { x } from '../../controllers/gpu-instance/public.ts';",
    "export const load = async () => [x, await import('../../controllers/endpoint-group/public.ts')];",
    '',
  ].join('\n'),
};

interface Diagnostic {
  readonly filename: string;
  readonly code: string;
  readonly message: string;
  readonly help?: string;
}

let folder: string;
let diagnostics: readonly Diagnostic[];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'planted-'));
  for (const file of ['oxlint.config.ts', 'tsconfig.json', 'package.json']) {
    cpSync(join(repository, file), join(folder, file));
  }
  cpSync(join(repository, 'scripts', 'lint'), join(folder, 'scripts', 'lint'), { recursive: true });
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'));
  for (const { file, source } of [...PLANTED, ALLOWED]) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), source);
  }
  const report: { diagnostics: Diagnostic[] } = JSON.parse(lint(folder));
  diagnostics = report.diagnostics;
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function lint(cwd: string): string {
  const oxlint = join(repository, 'node_modules', '.bin', 'oxlint');
  const run = spawnSync(oxlint, ['--type-aware', '--format=json', 'src'], { cwd, encoding: 'utf8' });
  return run.stdout;
}

test.each(PLANTED)('refuses $title', ({ file, rule, says }) => {
  const found = diagnostics.filter((diagnostic) => diagnostic.filename === file);
  const hit = found.find((diagnostic) => diagnostic.code.includes(rule));
  expect(hit, `no ${rule} for ${file}, only ${JSON.stringify(found)}`).toBeDefined();
  if (says) expect(`${hit?.message} ${hit?.help}`).toContain(says);
});

test('lets a command import the public file of a controller', () => {
  const allowed = diagnostics.filter(({ filename }) => filename === ALLOWED.file);
  expect(allowed).toEqual([]);
});

test('lists no file as excluded that is not there', () => {
  const excluded = config.overrides.flatMap((override) =>
    'excludeFiles' in override ? (override.excludeFiles ?? []) : [],
  );
  const sources = excluded.filter((pattern) => pattern.startsWith('src/'));
  const idle = sources.filter((pattern) => globSync(pattern, { cwd: repository }).length === 0);
  expect(idle).toEqual([]);
});
