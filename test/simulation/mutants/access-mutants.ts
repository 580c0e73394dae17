import type { Mutant } from './mutant.ts';

/** What authors of objects may reach by naming it. */
export const ACCESS_MUTANTS: readonly Mutant[] = [
  {
    name: 'key-secret-in-env',
    loses:
      'the refusal of a Secret with the API key of an account in env, onStartFrom and imagePullSecretRef',
    file: 'accounts/guarded-secrets.ts',
    find: 'if (account) return `holds the API key',
    replace: "if (account?.metadata.name === '') return `holds the API key",
  },
  {
    name: 'group-ceiling-without-price',
    loses: 'the price limit of a new worker whose template leaves the price to the account',
    file: 'controllers/endpoint-group/scaling/plan.ts',
    find: 'const isLimited = input.ceiling !== undefined && input.usualPrice !== undefined;',
    replace: 'const isLimited = input.ceiling !== undefined && input.usualPrice === -1;',
  },
];
