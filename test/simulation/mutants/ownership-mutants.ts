import type { Mutant } from './mutant.ts';

/** Whose machine it is, and when sweeping stops. */
export const OWNERSHIP_MUTANTS: readonly Mutant[] = [
  {
    name: 'any-status-teaches-labels',
    loses: 'the claim of a machine by which an account learns that labels do not come back',
    file: 'accounts/watch/feed-watch.ts',
    find: 'return new Set(verified.map(({ instanceId }) => instanceId));',
    replace:
      'return new Set([...verified, ...objects()].flatMap(({ instanceId }) => (instanceId === undefined ? [] : [instanceId])));',
  },
  {
    name: 'no-mac',
    loses: 'the codes of labels, claims and intents',
    file: 'ownership/key-ring.ts',
    find: '  return ring.some((key) => timingSafeEqual(Buffer.from(macOf(key, purpose, parts)), given));',
    replace: '  return ring.length > 0 && given.length > 0;',
  },
  {
    name: 'label-window-ignored',
    loses: 'the time in which a label fits a machine',
    file: 'ownership/ours.ts',
    find: "return { type: inside ? 'labelled' : 'labelCopied', facts };",
    replace: "return { type: inside || row.id > 0 ? 'labelled' : 'labelCopied', facts };",
  },
  {
    name: 'install-id-and-mac-ignored',
    loses: 'the installation in a label, and its code',
    file: 'ownership/label.ts',
    find: "  if (!macVerifies(identity.keys, retained ? 'retained' : 'label', { parts, mac })) return undefined;\n  return { uid",
    replace: '  return { uid',
  },
  {
    name: 'claim-not-verified',
    loses: 'the code of a recorded machine',
    file: 'ownership/claim.ts',
    find: "return claim !== undefined && macVerifies(keys, 'claim', { parts: claimParts(facts), mac: claim });",
    replace: 'return claimParts(facts).length > 0 && keys.length > 0 && claim !== null;',
  },
  {
    name: 'sweep-first-sight',
    loses: 'the second sweep before an orphan counts',
    file: 'controllers/orphan-sweep/decide.ts',
    find: 'const SWEEPS_TO_BELIEVE = 2;',
    replace: 'const SWEEPS_TO_BELIEVE = 1;',
  },
  {
    name: 'sweep-young',
    loses: 'the age before an orphan counts',
    file: 'controllers/orphan-sweep/decide.ts',
    find: 'return startedAt !== undefined && now !== undefined && now - startedAt >= orphanAgeMs;',
    replace: 'return startedAt !== undefined && now !== undefined && now - startedAt >= 0 * orphanAgeMs;',
  },
  {
    name: 'sweep-never',
    loses: 'the destroy of orphans',
    file: 'controllers/orphan-sweep/decide.ts',
    find: 'const destroys = kept === undefined ? sweepable(observed, orphans).map(destroy) : [];',
    replace: 'const destroys = kept === undefined ? orphans.slice(0, 0).map(destroy) : [];',
  },
  {
    name: 'sweep-despite-report',
    loses: 'the orphan policy',
    file: 'controllers/orphan-sweep/decide.ts',
    find: "applies: (_, { policy }) => policy === 'Report' },",
    replace: "applies: (_, { policy }) => policy !== 'Report' && policy !== 'Destroy' },",
  },
  {
    name: 'sweep-without-lease',
    loses: 'the lease before an orphan is destroyed',
    file: 'controllers/orphan-sweep/observe.ts',
    find: '    isLeader: sources.isLeader(),',
    replace: '    isLeader: sources.isLeader() || sweep.list.begunAt > 0,',
    also: [
      {
        file: 'controllers/orphan-sweep/act.ts',
        find: '  if (!mayLeave()) return;\n  const session =',
        replace: '  const session =',
      },
      {
        file: 'controllers/orphan-sweep/act.ts',
        find: 'destroy(instanceId, { mayLeave });',
        replace: 'destroy(instanceId);',
      },
    ],
  },
];
