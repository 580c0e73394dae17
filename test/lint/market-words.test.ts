import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FORMER_COLUMNS } from '../../src/api/v1alpha1/former-columns.ts';
import { KNOWN_STATUSES } from '../../src/markets/vast/instances/instance.ts';
import { COLUMN_SHAPE, OFFER_FACTS } from '../../src/markets/vast/offers/columns.ts';

const repository = join(import.meta.dirname, '..', '..');

/** Statuses of Vast.ai that have another name in the operator. */
const STATUSES = KNOWN_STATUSES.filter((status) => status === 'frozen' || status === 'rebooting');

/** Columns that are words of English too, and the example of a filter in the schema. */
const ORDINARY: ReadonlySet<string> = new Set(['type', 'duration', 'verification', 'cuda_max_good']);

/** Columns of offers of Vast.ai that have another name in the operator. */
const COLUMNS = [...new Set([...FORMER_COLUMNS.keys(), ...Object.keys(COLUMN_SHAPE), 'gpu_frac'])].filter(
  (name) => !OFFER_FACTS.has(name) && !ORDINARY.has(name),
);

/** Texts of the interface of Vast.ai. */
const WORDS: ReadonlySet<string> = new Set([
  ...STATUSES,
  ...COLUMNS,
  ...['ssh_direc', 'ssh_proxy', 'ssh_direc ssh_proxy'],
  ...['runtype', 'onstart', 'image_login', 'image_uuid', 'cancel_unavail', 'new_contract', 'volume_info'],
  ...['actual_status', 'intended_status', 'cur_state', 'status_msg', 'instances_found', 'next_token'],
  ...['public_ipaddr', 'start_date', 'end_date', 'client_id', 'instance_ids', 'auth_error', 'no_such_ask'],
]);

/** Paths and hosts of its interface, as parts of a literal. */
const PARTS = ['/api/v0', '/api/v1/instances', 'vast.ai'];

/** Files that may hold a word, and why. */
const ALLOWED: Readonly<Record<string, string>> = {
  'src/instance/machine-state.ts': 'reads statuses that earlier versions stored',
  'src/api/v1alpha1/former-columns.ts':
    'reads columns that earlier versions stored, and refuses filters by them',
  'src/config/options.ts': 'names the default of --marketplace-url',
  'src/config/values.ts': 'shows that address as an example',
  'src/api/v1alpha1/marketplace-account.ts': 'shows that address as an example',
};

/** Parts of the command line that are for Vast.ai alone: its queries and its nouns. */
const ALLOWED_COLUMNS: Readonly<Record<string, string>> = {
  'src/cli/commands/offers.ts': 'shows queries of Vast.ai',
  'src/cli/commands/volumes.ts': 'searches volumes of Vast.ai',
};

/** Literals of a source that are words of a market; comments do not count. */
function wordsIn(source: string): readonly string[] {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '');
  const literals = code.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g);
  return [...literals]
    .map(([, single, double, template]) => single ?? double ?? template ?? '')
    .filter((text) => WORDS.has(text) || PARTS.some((part) => text.includes(part)));
}

test('names no word of a market outside its adapter, the simulator and the command line', () => {
  const files = globSync('src/**/*.ts', { cwd: repository }).filter(
    (file) =>
      !/^src\/(markets|simulator|cli)\//.test(file) && !file.endsWith('.test.ts') && !(file in ALLOWED),
  );
  expect(files.length).toBeGreaterThan(200);
  const found = files.flatMap((file) =>
    wordsIn(readFileSync(join(repository, file), 'utf8')).map((word) => `${file}: ${word}`),
  );
  expect(found).toEqual([]);
});

test('names no column of a market in plan, explain, status and the other verbs of the operator', () => {
  const files = globSync('src/cli/**/*.ts', { cwd: repository }).filter(
    (file) => !file.endsWith('.test.ts') && !(file in ALLOWED_COLUMNS),
  );
  expect(files.length).toBeGreaterThan(50);
  const found = files.flatMap((file) =>
    wordsIn(readFileSync(join(repository, file), 'utf8'))
      .filter((word) => COLUMNS.includes(word))
      .map((word) => `${file}: ${word}`),
  );
  expect(found).toEqual([]);
});

test.each([
  ["fetch('/api/v0/asks/1/')", ['/api/v0/asks/1/']],
  ['const mode = `ssh_direc ssh_proxy`;', ['ssh_direc ssh_proxy']],
  ['if (status === "frozen") stop();', ['frozen']],
  ["// a comment about 'frozen'\nconst x = 1; /* '/api/v0' */", []],
])('finds the words of %j', (source, words) => {
  expect(wordsIn(source)).toEqual(words);
});

test.each([...Object.keys(ALLOWED), ...Object.keys(ALLOWED_COLUMNS)])(
  'allows words in %s, which holds one',
  (file) => {
    expect(wordsIn(readFileSync(join(repository, file), 'utf8'))).not.toEqual([]);
  },
);
