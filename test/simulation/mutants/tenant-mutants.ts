import type { Mutant } from './mutant.ts';

/** Mutants of the isolation between accounts of one login and between namespaces of one account. */
export const TENANT_MUTANTS: readonly Mutant[] = [
  {
    name: 'narrow-key-uses-strong-one',
    loses: 'the own key of an account for each of its writes',
    file: 'accounts/api-keys.ts',
    find: "return (purpose) => (purpose === 'read' ? this.forReads(purpose) : this.#ownKey(accountUid, purpose));",
    replace:
      "return (purpose) => (purpose === 'read' || accountUid !== '' ? this.forReads('read') : this.#ownKey(accountUid, purpose));",
  },
  {
    name: 'adoption-by-one-consent',
    loses: 'the consent of every account of the login to an adoption',
    file: 'accounts/registry.ts',
    find: "if (accounts.some((account) => isOfLogin(account) && account.spec.adoption !== 'Unlabelled'))",
    replace: "if (accounts.every((account) => isOfLogin(account) && account.spec.adoption !== 'Unlabelled'))",
  },
  {
    name: 'identity-waits-for-all',
    loses: 'the first start that waits for no new account, and for none whose list fails',
    file: 'accounts/installation/rental-traces.ts',
    find: 'unlisted: former.filter((account) => isListPending(account, registry)).length,',
    replace:
      'unlisted: accounts.filter((account) => registry.session(refOf(account))?.isListed !== true).length,',
  },
  {
    name: 'foreign-label-blocks-identity',
    loses: 'the record that tells labels of this cluster from those of another installation',
    file: 'accounts/installation/rental-traces.ts',
    find: 'const own = new Set(former.flatMap((account) => ownMachinesOf(account, registry)));',
    replace: 'const own = new Set(accounts.flatMap((account) => ownMachinesOf(account, registry)));',
    also: [
      {
        file: 'accounts/installation/rental-traces.ts',
        find: '.filter(({ label }) => installationNamedBy(label) === account.status?.installation)',
        replace: '.filter(({ label }) => installationNamedBy(label) !== undefined)',
      },
      {
        file: 'accounts/installation/rental-traces.ts',
        find: 'unlisted: former.filter((account) => isListPending(account, registry)).length,',
        replace: 'unlisted: accounts.filter((account) => isListPending(account, registry)).length,',
      },
    ],
  },
  {
    name: 'blame-by-one-tenant',
    loses: 'the second namespace, or the default time, before a failure counts for all',
    file: 'accounts/avoid-list.ts',
    find: 'if (agrees) return true;',
    replace: "if (agrees || report.target !== '') return true;",
  },
  {
    name: 'blame-by-failed-start',
    loses: 'the look at other hosts before a start that timed out blames one for all',
    file: 'accounts/avoid-list.ts',
    find: 'if (!facetsOf(reason).mayBeImage) return false;',
    replace: "if (!facetsOf(reason).mayBeImage || reason === 'CannotStart') return false;",
  },
  {
    name: 'revoked-namespace-starts',
    loses: 'the permission of a namespace before a stopped machine is started',
    file: 'controllers/gpu-instance/rules/stopped.ts',
    find: 'if (permitted === true) return undefined;',
    replace: 'if (permitted !== undefined) return undefined;',
    also: [
      {
        file: 'controllers/gpu-instance/act.ts',
        find: '!SPENDS.has(action.type) || maySpend(',
        replace: "!SPENDS.has('rent') || maySpend(",
      },
    ],
  },
  {
    name: 'stranger-reads-account',
    loses: 'the silence towards namespaces that may not use an account',
    file: 'controllers/gpu-instance/observe.ts',
    find: 'return outsider === undefined ? view : withoutWords(view, outsider);',
    replace:
      "return outsider === undefined || view.state !== 'missing' ? view : withoutWords(view, outsider);",
    also: [
      {
        file: 'controllers/gpu-instance/rules/unrented.ts',
        find: "return permitted ? undefined : rentNothing(facts, stage, { reason: 'NotAllowedByAccount' });",
        replace: 'return undefined;',
      },
    ],
  },
  {
    name: 'refused-adoption-at-every-list',
    loses: 'the rest of a refused adoption until its account changes',
    file: 'controllers/gpu-instance/rules/adopting.ts',
    find: "if (waitsFor === 'account') return { afterMs: REFUSED_AGAIN_MS };",
    replace: "if (waitsFor === 'account') return { onList: true };",
  },
  {
    name: 'taken-machine-at-every-list',
    loses: 'the rest of an object whose machine another object has, until that machine changes',
    file: 'controllers/gpu-instance/rules/adopting.ts',
    find: "return waitsFor === 'machine' ? { afterMs: TAKEN_AGAIN_MS } : { onList: true };",
    replace: "return waitsFor === 'machine' ? { onList: true } : { onList: true };",
  },
];
