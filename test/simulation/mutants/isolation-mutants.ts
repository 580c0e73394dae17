import type { Mutant, Patch } from './mutant.ts';

const GPU = 'controllers/gpu-instance';

const PROBE_THROWS: Patch = {
  file: `${GPU}/probe.ts`,
  find: "      const text = error instanceof Error ? error.message : 'unknown error';\n",
  replace:
    "      if (error) throw error;\n      const text = error instanceof Error ? error.message : 'unknown error';\n",
};

const NO_LIMIT: Patch = {
  file: `${GPU}/rental-inputs.ts`,
  find: '  return bytes <= limit;\n',
  replace: '  return bytes <= limit || limit > 0;\n',
};

/** Mutants of the isolation between objects. */
export const ISOLATION_MUTANTS: readonly Mutant[] = [
  {
    name: 'probe-throws',
    loses: 'the condition of a probe that cannot be sent (C1)',
    ...PROBE_THROWS,
  },
  {
    name: 'rejection-ends-process',
    loses: 'the error handler of work that nothing awaits (C1)',
    file: 'lib/background.ts',
    find: '    startedBy(work).catch(onError);\n',
    replace: '    startedBy(work).finally(() => onError === undefined);\n',
    also: [PROBE_THROWS],
  },
  {
    name: 'inherited-secret-key',
    loses: 'the check that a Secret has the key that an object names: JavaScript objects inherit others (C1)',
    file: `${GPU}/rental-inputs.ts`,
    find: 'ownValue(secret?.data, reference.key)',
    replace: '(ownValue(secret?.data, reference.key) ?? secret?.data?.[reference.key])',
  },
  {
    name: 'no-env-limit',
    loses: 'the limit of what one object has sent for its machine (H4)',
    ...NO_LIMIT,
  },
  {
    name: 'decode-per-entry',
    loses: 'the one decoding of a key that many variables name, beside the limit of them all (H4)',
    file: `${GPU}/rental-inputs.ts`,
    find: '    if (known !== undefined) return known;\n',
    replace: '',
    also: [NO_LIMIT],
  },
  {
    name: 'upgrade-never-settles',
    loses: 'the end of a probe whose connection was taken for another protocol (M8)',
    file: `${GPU}/probe.ts`,
    find: 'await withDeadline(limit, async () => {',
    replace: 'await ((_limit, run) => run())(limit, async () => {',
    also: [
      {
        file: `${GPU}/probe.ts`,
        find: "    request.once('close', () => end('The probe did not answer.'));\n",
        replace: '',
      },
      {
        file: `${GPU}/probe.ts`,
        find: "request.once('upgrade',",
        replace: "request.once('connect',",
      },
    ],
  },
];
