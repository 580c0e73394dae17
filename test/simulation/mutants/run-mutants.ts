import type { Mutant } from './mutant.ts';

const RULES = 'controllers/gpu-instance/rules/completion.ts';
const COLLECTION = 'controllers/gpu-instance/run-collection.ts';
const RUN = 'instance/run.ts';
const RESULT = 'instance/run-result.ts';
const TEXT = 'instance/run-text.ts';
const OWNER = 'cli/job/run-owner.ts';
const STEP = 'cli/job/run-step.ts';

/** Mutants of runs: each loses a result or the work of a program, or pays for a machine without work. */
export const RUN_MUTANTS: readonly Mutant[] = [
  {
    name: 'run-any-nonce',
    loses: 'that only the result of this rental counts',
    file: RESULT,
    find: 'if (!NONCE.test(nonce)) return [];',
    replace: "if (!NONCE.test(nonce)) return [];\n  nonce = '[A-Za-z0-9]+';",
    also: [{ file: RESULT, find: 'owner === nonce && Number', replace: 'owner !== undefined && Number' }],
  },
  {
    name: 'run-exited-succeeds',
    loses: 'that a machine which ended proves no success',
    file: RULES,
    find: "? settle(facts, recorded, { type: 'unknown' })",
    replace: "? settle(facts, recorded, { type: 'exited', exitCode: 0 })",
  },
  {
    name: 'run-destroyed-unsaved',
    loses: 'that a result is on record before its machine ends',
    file: RULES,
    find: "return settle(facts, recorded, { type: 'exited', exitCode, message, log });",
    replace:
      "return exitCode < 0 ? settle(facts, recorded, { type: 'exited', exitCode, message, log }) : endMachine(facts, { machine: recorded.machine, reason: 'RunFailed', kind: 'finished', finding: machineFinding(facts, recorded.state) });",
  },
  {
    name: 'run-outbid-fails',
    loses: 'that a machine which is lost is no failed attempt',
    file: RUN,
    find: 'return isLost ? { ...run, lost: (run.lost ?? 0) + 1 } : run;',
    replace: 'return isLost ? { ...run, failed: (run.failed ?? 0) + 1 } : run;',
  },
  {
    name: 'run-again-after-end',
    loses: 'that a program which has ended does not run again on its machine',
    file: TEXT,
    find: `'[ "$_e" -ge 0 ]||{',`,
    replace: `'[ "$_e" -ge 256 ]||{',`,
    unseen: 'The modelled programs run once; real shells run the text in its unit tests.',
  },
  {
    name: 'run-polled',
    loses: 'that a running machine costs one call in ten minutes',
    file: COLLECTION,
    find: 'const WATCH_MS = 600_000;',
    replace: 'const WATCH_MS = 5_000;',
  },
  {
    name: 'run-without-end',
    loses: 'the longest life of a run whose author gave none',
    file: RUN,
    find: 'return maxLifetime ?? (completion && RUN_MAX_LIFETIME);',
    replace: 'return completion && RUN_MAX_LIFETIME ? maxLifetime : maxLifetime;',
    unseen: 'It is a day, and no story lasts as long.',
  },
  {
    name: 'run-rented-after-end',
    loses: 'that nothing is rented for a run that is over',
    file: RULES,
    find: 'if (outcomeOf(object) !== undefined) return finished(facts, fields);',
    replace: 'if (outcomeOf(object) !== undefined) return undefined;',
    also: [
      {
        file: RULES,
        find: 'if (!isWithout || hasMachine || outcomeOf(facts.object) === undefined) return undefined;',
        replace: "if (!isWithout || hasMachine || stage.type === 'unrented') return undefined;",
      },
    ],
  },
  {
    name: 'run-given-up-unproven',
    loses: 'that a machine without a result is given up by the proof that any lost machine needs',
    file: RULES,
    find: "return confirmation === 'confirmed' ? settle",
    replace: "return confirmation !== 'unconfirmed' ? settle",
    unseen: 'A doubt about its price has the machine read before; its unit test shows it.',
  },
  {
    name: 'run-result-of-before',
    loses: 'that the result of one machine says nothing about the next',
    file: RUN,
    find: 'return settled?.attempt === attempt && isReason',
    replace: 'return settled !== undefined && attempt > 0 && isReason',
  },
  {
    name: 'run-succeeds-early',
    loses: 'that Succeeded says that the machine of the run is gone',
    file: RULES,
    find: 'if (isFinal) return { status, reason: outcome, message: Ready.message };',
    replace: 'if (isFinal || !isFinal) return { status, reason: outcome, message: Ready.message };',
  },
  {
    name: 'job-cancelled-by-any-signal',
    loses: 'that an evicted relay leaves its machine running',
    file: OWNER,
    find: 'cancels: false, cause: `the API server',
    replace: 'cancels: true, cause: `the API server',
  },
  {
    name: 'job-owned-by-pod',
    loses: 'that an evicted Pod takes no machine with it',
    file: OWNER,
    find: "if (controller === undefined || job?.type === 'forbidden') return",
    replace: "if (controller === undefined || job?.type !== 'unknown') return",
  },
  {
    name: 'job-tries-at-once',
    loses: 'that a Job has one machine at a time',
    file: STEP,
    find: "if (result === undefined || result.succeeded || !isReported(object)) return { type: 'attach', object };",
    replace: "if (result?.succeeded) return { type: 'attach', object };",
    also: [
      {
        file: STEP,
        find: 'if (object.status?.instanceId !== undefined)',
        replace: 'if (object.status?.instanceId === undefined && attempt < 0)',
      },
    ],
  },
  {
    name: 'job-named-by-relay',
    loses: 'that every relay of a Job derives one name, so the API server accepts one object',
    file: 'cli/job/run-manifest.ts',
    find: 'name: runName(owner, attempt),',
    replace: 'name: runName({ ...owner, index: Math.floor(Math.random() * 1e6) }, attempt),',
  },
];
