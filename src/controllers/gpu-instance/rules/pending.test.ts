import { expect, test } from 'vitest';
import { at, intent, row } from '../../../../test/builders/observed.ts';
import { whatIsMissing } from './pending.ts';

const open = { ...intent({ attempt: 3, offer: '100' }) };

test.each<readonly [string, Parameters<typeof whatIsMissing>[0], RegExp]>([
  [
    'the answer that is awaited',
    { type: 'unknown', intent: open, settlesAt: at(60) },
    /^The answer to purchase 3 of offer 100 is missing/,
  ],
  [
    'the one machine on which a person must decide',
    { type: 'ambiguous', intent: open, candidates: [row({ id: '5' })] },
    /^Machine 5 \(\$0\.50\/h\) is new .* may be from purchase 3.* label it if it is yours\.$/,
  ],
  [
    'all candidates',
    { type: 'ambiguous', intent: open, candidates: [row({ id: '5' }), row({ id: '6' })] },
    /^Machines 5 \(\$0\.50\/h\), 6 \(\$0\.50\/h\) are new .* may be from purchase 3.* label those that are yours\.$/,
  ],
])('a rental of unknown outcome names %s', (_, settlement, words) => {
  expect(whatIsMissing(settlement)).toMatch(words);
});
