import { expect, test } from 'vitest';
import { TOOL_NAMES } from './contract.ts';
import { manifestOf } from './manifest.ts';
import { inputSchema, parseArguments } from './tools.ts';

const RUN = { idempotencyKey: 'a-1', image: 'x:1', maxPrice: '0.6', maxCost: '5', maxLifetime: '4h' };

const faultsOf = (given: unknown): string => {
  const parsed = parseArguments('run', given);
  return 'faults' in parsed ? parsed.faults.join('; ') : '';
};

test.for(['maxPrice', 'maxCost', 'maxLifetime', 'idempotencyKey', 'image'])(
  'run without %s is refused',
  (field) => {
    expect(faultsOf({ ...RUN, [field]: undefined })).toMatch(new RegExp(`^${field}: `));
  },
);

test.for([
  ['maxCost', '0', 'write an amount above zero'],
  ['maxCost', 4, 'expected string'],
  ['maxCost', '-1', 'write dollars in quotes'],
  ['maxLifetime', '1y', 'write a duration'],
  ['idempotencyKey', '../x', 'write a name of lower case letters'],
  ['labels', {}, 'Unrecognized key'],
  ['namespace', 'kube-system', 'Unrecognized key'],
  ['adopt', {}, 'Unrecognized key'],
  ['env', { a: 1 }, 'expected string'],
] as const)('run with %s %j is refused', ([field, value, words]) => {
  expect(faultsOf({ ...RUN, [field]: value })).toContain(words);
});

test('a tool refuses every argument that its schema does not name', () => {
  for (const tool of TOOL_NAMES) {
    expect(inputSchema(tool)).toMatchObject({ type: 'object', additionalProperties: false });
    expect(parseArguments(tool, { ...RUN, nothing: 1 })).toHaveProperty('faults');
  }
});

test('schemas for agents have no keywords of CRDs', () => {
  for (const tool of TOOL_NAMES) expect(JSON.stringify(inputSchema(tool))).not.toContain('"x-');
});

test('the manifest has the ceilings, the label of the agent and a hash of the arguments', () => {
  const parsed = parseArguments('run', { ...RUN, env: { A: '1' }, ports: [80], gpuNames: ['RTX 4090'] });
  if ('faults' in parsed) throw new Error(parsed.faults.join());
  const manifest = manifestOf({ tool: 'run', ...parsed.value }, { agent: 'coder', namespace: 'team' });
  expect(manifest).toMatchObject({
    metadata: { name: 'a-1', namespace: 'team', labels: { 'gpurental.dev/agent': 'coder' } },
    spec: {
      image: 'x:1',
      maxTotalCost: '5',
      maxLifetime: '4h',
      offers: [{ gpuNames: ['RTX 4090'], gpuCount: 1, maxPricePerHour: '0.6' }],
      env: [{ name: 'A', value: '1' }],
      ports: [{ containerPort: 80 }],
    },
  });
  const other = manifestOf(
    { tool: 'run', ...parsed.value, maxCost: '6' },
    { agent: 'coder', namespace: 'team' },
  );
  expect(other.metadata.annotations['gpurental.dev/agent-call']).not.toBe(
    manifest.metadata.annotations['gpurental.dev/agent-call'],
  );
});

test('a job is a run to completion, with another hash than a run of the same arguments', () => {
  const parsed = parseArguments('job', { ...RUN, command: ['true'], maxRetries: 2 });
  if ('faults' in parsed) throw new Error(parsed.faults.join());
  const creator = { agent: 'coder', namespace: 'team' };
  const job = manifestOf({ tool: 'job', ...parsed.value }, creator);
  expect(job.spec.completion).toEqual({ backoffLimit: 2 });
  expect(job.spec).not.toHaveProperty('maxRetries');
  const { maxRetries: _retries, ...call } = parsed.value;
  const [plain, run] = [
    manifestOf({ tool: 'job', ...call }, creator),
    manifestOf({ tool: 'run', ...call }, creator),
  ];
  expect(plain.spec.completion).toEqual({ backoffLimit: 0 });
  expect(run.spec.completion).toBeUndefined();
  expect(plain.metadata.annotations).not.toEqual(run.metadata.annotations);
});
