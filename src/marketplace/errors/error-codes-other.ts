import { codeRows, type ErrorCodeRow } from './error-code-row.ts';

/** Codes of the other areas. Earlier rows win. */
export const OTHER_CODES: readonly ErrorCodeRow[] = [
  ...codeRows('search', [
    [
      'search_quota_exceeded',
      [429],
      'quotaExceeded',
      'refused',
      'The daily number of searches is used up; it renews at midnight UTC.',
    ],
    ['invalid_request', [400], 'invalidRequest', 'refused', 'Correct the filters of the search.'],
  ]),
  ...codeRows('instances', [
    [
      'no_such_instance',
      [404, 410, 400, 200],
      'notFound',
      'refused',
      'No such instance: see `list instances`.',
    ],
    ['label_too_long', [400], 'invalidRequest', 'refused', 'Use a label of at most 1024 characters.'],
    [
      'missing_billing',
      [400],
      'insufficientCredit',
      'refused',
      'Add a payment method or credit to the account.',
    ],
    ['insufficient_credit', [400, 402, 403], 'insufficientCredit', 'refused', 'Add credit to the account.'],
    [
      'invalid_args',
      [400],
      'invalidRequest',
      'refused',
      'Correct the value; a bid is at least 0.001 dollars an hour.',
    ],
    [
      'invalid_request',
      [400],
      'invalidRequest',
      'refused',
      'Correct the filter of the list; computed columns cannot be filtered.',
    ],
    [
      'invalid_token',
      [400],
      'invalidRequest',
      'refused',
      'The page token is not valid any more: begin the list again.',
    ],
  ]),
  ...codeRows('volumes', [
    ['no_such_volume', [404], 'notFound', 'refused', 'No such volume: see the ids with `search volumes`.'],
    [
      '*',
      [400],
      'notFound',
      'refused',
      'No such volume listing: see the ids with `search volumes`.',
      'does not exist',
    ],
    [
      '*',
      [400],
      'conflict',
      'refused',
      'The listing is active: wait until the rentals on it have ended.',
      'active volume listing',
    ],
    [
      '*',
      [400],
      'refused',
      'unknown',
      'The listing could not be deleted: look whether it is still there, then try again.',
      'Unable to delete volume listing',
    ],
    ['*', [400], 'invalidRequest', 'refused', 'Give the id of the volume listing.', 'must be passed'],
    ['invalid_args', [400], 'invalidRequest', 'refused', 'Correct the id or the size of the volume.'],
  ]),
  ...codeRows('groups', [
    [
      'invalid_args',
      [400],
      'notFound',
      'refused',
      'No such endpoint group of this account.',
      'not found for user',
    ],
    ['invalid_args', [400], 'invalidRequest', 'refused', 'Correct the options of the endpoint group.'],
    ['no_such_workergroup', [404], 'notFound', 'refused', 'No such worker group of this account.'],
  ]),
  ...codeRows('account', [
    [
      'invalid_permissions',
      [400],
      'invalidRequest',
      'refused',
      'Give permissions as {"api": {"<category>": {}}} with known categories.',
    ],
    [
      'missing_permissions',
      [400],
      'invalidRequest',
      'refused',
      'Give the permissions that the key shall have.',
    ],
    [
      'no_ssh_key',
      [400],
      'invalidRequest',
      'refused',
      'Give a public SSH key in the form of one line of authorized_keys.',
    ],
  ]),
  ...codeRows('any', [
    [
      'bad_request',
      [400],
      'invalidRequest',
      'refused',
      'Correct the request: a field is missing, has the wrong type or an unknown value.',
    ],
    ['auth_error', [401, 403], 'unauthorized', 'refused', 'Give a valid API key.'],
  ]),
];
