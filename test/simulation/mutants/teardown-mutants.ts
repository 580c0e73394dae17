import type { Mutant } from './mutant.ts';

const GPU = 'controllers/gpu-instance';

/** Teardown. */
export const TEARDOWN_MUTANTS: readonly Mutant[] = [
  {
    name: 'destroyed-again-for-ever',
    loses: 'the end of destroys of a machine that is remembered alone',
    file: `${GPU}/rules/deleting.ts`,
    find: ' && !isOver(rented.instanceId, memory, list);',
    replace: ';',
  },
  {
    name: 'mark-of-kept-believed',
    loses: 'the end of a machine that was marked as kept before a person wanted it to go',
    file: `${GPU}/rules/deleting.ts`,
    find: 'attemptOf(ownership) !== undefined || isTakenBack(facts, machine) ||',
    replace: 'attemptOf(ownership) !== undefined ||',
  },
  {
    name: 'kept-machine-given-up-at-once',
    loses: 'the patience of a process that has proved no key yet, with a machine that is to be kept',
    file: `${GPU}/rules/deleting.ts`,
    find: 'const GIVE_UP_AFTER_MS = 60_000;',
    replace: 'const GIVE_UP_AFTER_MS = 0;',
  },
  {
    name: 'conflict-not-doubted',
    loses: 'the look at the API server after a conflict, where the copy missed an event',
    file: 'runtime/list-watch/current-objects.ts',
    find: "if (isKubeError(error, 'conflict')) this.lostRace(key);",
    replace: "if (isKubeError(error, 'conflict') && key === '') this.lostRace(key);",
  },
  {
    name: 'silent-host-waited-for',
    loses: 'the end of a deletion that keeps a machine on a host which can stop nothing',
    file: `${GPU}/rules/deleting.ts`,
    find: 'if (!isFailing(shown)) return isStopped(shown);',
    replace: "if (shown.state !== 'exited') return isStopped(shown);",
  },
  {
    name: 'kept-machine-not-listed',
    loses: 'the list of machines that are kept and could not be labelled',
    file: `${GPU}/rules/deleting.ts`,
    find: 'if (!facts.account.facts) return instanceId === undefined ? undefined : { instanceId, label: undefined };',
    replace: 'if (!facts.account.facts) return undefined;',
  },
  {
    name: 'finalizer-after-delete',
    loses: 'the proof that nothing is left before the finalizer goes',
    file: `${GPU}/rules/deleting.ts`,
    find: 'decide: confirmGone,',
    replace: 'decide: () => undefined,',
  },
  {
    name: 'finalizer-before-settling',
    loses: 'the resolution of an open intent before the finalizer goes',
    file: `${GPU}/rules/deleting.ts`,
    find: '    decide: settleFirst,\n',
    replace: '    decide: () => undefined,\n',
  },
  {
    name: 'finalizer-at-once',
    loses: 'the destroy before the finalizer goes',
    file: `${GPU}/rules/deleting.ts`,
    find: 'decide: destroyAll,',
    replace: 'decide: () => undefined,',
  },
  {
    name: 'intent-forgotten-on-delete',
    loses: 'the open intent of an object without a machine',
    file: `${GPU}/rules/deleting.ts`,
    find: "const onRecord = intent.type !== 'none' || instanceId !== undefined || claim !== undefined;",
    replace:
      "const onRecord = intent.type === 'tampered' || instanceId !== undefined || claim !== undefined;",
  },
  {
    name: 'labelled-machines-left',
    loses: 'the destroy of machines that only their label names',
    file: `${GPU}/rules/deleting.ts`,
    find: 'attemptOf(ownership) !== undefined || isTakenBack(facts, machine) ||',
    replace: 'isTakenBack(facts, machine) ||',
  },
  {
    name: 'truncated-list-believed',
    loses: 'the count that proves a list complete',
    file: 'markets/vast/instances/instances.ts',
    find: '  if (found !== instances.length) {',
    replace: '  if (found === -1) {',
  },
  {
    name: 'conflict-is-release',
    loses: 'the next try after another write came before the removal of the guard',
    file: 'controllers/gpu-instance/act.ts',
    find: "  if (written.type === 'conflict') throw written.error;\n  if (written.type === 'written') deps.wrote(written.object);",
    replace: "  if (written.type === 'written') deps.wrote(written.object);",
  },
  {
    name: 'orphaned-slice-stays',
    loses: 'the slices of a deleted object whose owner reference the garbage collector removed',
    file: 'controllers/gpu-instance/child-writes.ts',
    find: 'isOwnedBy(child, owner) || isOrphanOf(child, owner)',
    replace: 'isOwnedBy(child, owner)',
  },
  {
    name: 'orphaned-children-stay',
    loses: 'the end of the Secret and Service of an object that was deleted with --cascade=orphan',
    file: `${GPU}/act.ts`,
    find: 'if (!keepsChildren) await removeOrphans',
    replace: 'if (keepsChildren) await removeOrphans',
  },
  {
    name: 'forced-children-stay',
    loses: 'the sweep of what an object left whose finalizer was taken away in the midst of --cascade=orphan',
    file: 'controllers/orphan-sweep/child-sweep.ts',
    find: '  for (const scope of namespaces.length > 0 ? namespaces : [EVERYWHERE]) controller.queue.add(scope);\n',
    replace: '',
  },
];
