import { codeRows } from './error-code-row.ts';

/**
 * Renting. Only what proves that no machine was made is `refused`: a 400 has been seen with a machine behind
 * it, so its outcome is settled by the list like that of a lost reply.
 */
export const RENT_CODES = codeRows('rent', [
  [
    'no_such_ask',
    [400, 404, 410, 200],
    'offerGone',
    'refused',
    'The offer is taken or withdrawn: choose another.',
  ],
  [
    'invalid_args',
    [404, 410, 200],
    'offerGone',
    'refused',
    'The offer is taken or withdrawn: choose another.',
    'no_such_ask',
  ],
  [
    'invalid_args',
    [400, 403],
    'invalidRequest',
    'unknown',
    'Correct the image, disk, env or other fields of the request.',
  ],
  [
    'invalid_price',
    [400],
    'invalidRequest',
    'unknown',
    'Bid at least the lowest bid of the offer, between 0.001 and 128 dollars an hour.',
  ],
  [
    'no_ssh_key_for_vm',
    [400],
    'invalidRequest',
    'unknown',
    'Register an SSH key on the account before renting a virtual machine.',
  ],
  ['no_ssh_key', [400], 'invalidRequest', 'unknown', 'Register an SSH key on the account first.'],
  [
    'missing_billing',
    [400],
    'insufficientCredit',
    'unknown',
    'Add a payment method or credit to the account.',
  ],
  ['insufficient_credit', [400, 402, 403], 'insufficientCredit', 'unknown', 'Add credit to the account.'],
]);
