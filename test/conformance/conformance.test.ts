import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { routes } from '../../src/simulator/routes/registry.ts';
import { tfaErrorStatus } from '../../src/simulator/tfa/step.ts';

/* `test/evidence/conformance.md` names a test for every statement of the specification: here it is held to that. */

interface Proof {
  readonly file: string;
  readonly title: string;
  /** Text of a row of a table test. */
  readonly row: string | undefined;
}

interface Statement {
  readonly section: string;
  readonly text: string;
  readonly proofs: readonly (Proof | string)[];
}

const ROOT = new URL('../../', import.meta.url);
const page = readFileSync(new URL('test/evidence/conformance.md', ROOT), 'utf8');
const PROOF = /^`([^`]+\.test\.ts)` › (.+?)(?: › `([^`]+)`)?$/;
/** A title is the string in front of the function of a test. */
const TITLE =
  /(?:\btest|\))\(\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)\s*,\s*(?:async\b|\()/g;

const statements = readStatements();

function readStatements(): readonly Statement[] {
  let section = '';
  return page.split('\n').flatMap((line) => {
    if (line.startsWith('## ')) section = line.slice(3);
    if (!line.startsWith('| ') || /^\| (Statement|Difference) /.test(line)) return [];
    const [, text = '', cell = ''] = line.split(/ ?(?<!\\)\| ?/);
    return [{ section, text, proofs: cell.split('<br>').map(readProof) }];
  });
}

/** Returns the parsed proof, or the text if it is not one. */
function readProof(text: string): Proof | string {
  const match = PROOF.exec(text.trim());
  return match ? { file: match[1] ?? '', title: match[2] ?? '', row: match[3] } : text;
}

const sources = new Map<string, string>();

function sourceOf(file: string): string {
  const known = sources.get(file);
  if (known !== undefined) return known;
  const url = new URL(file, ROOT);
  const source = existsSync(url) ? readFileSync(url, 'utf8') : '';
  sources.set(file, source);
  return source;
}

function titlesOf(source: string): ReadonlySet<string> {
  const literals = Array.from(source.matchAll(TITLE), ([, literal = '']) => literal);
  return new Set(literals.map((literal) => literal.slice(1, -1).replace(/\\(['"`\\])/g, '$1')));
}

/** Returns the fault of a proof; undefined if it holds. */
function faultOf(proof: Proof | string): string | undefined {
  if (typeof proof === 'string') return `"${proof}" names no test`;
  const source = sourceOf(proof.file);
  if (source === '') return `${proof.file} does not exist`;
  if (!titlesOf(source).has(proof.title)) return `${proof.file} has no test "${proof.title}"`;
  if (proof.row !== undefined && !source.includes(proof.row))
    return `${proof.file} has no row "${proof.row}"`;
  return undefined;
}

describe('test/evidence/conformance.md', () => {
  test.for(statements)('$section: $text', ({ proofs }) => {
    expect(proofs.length).toBeGreaterThan(0);
    expect(proofs.map(faultOf).filter((fault) => fault !== undefined)).toEqual([]);
  });

  test('a proof that names no test, no title or no row is found out', () => {
    const file = 'test/conformance/conformance.test.ts';
    expect(faultOf('see the tests')).toMatch(/names no test/);
    expect(faultOf({ file: 'test/none.test.ts', title: 'x', row: undefined })).toMatch(/does not exist/);
    expect(faultOf({ file, title: 'no such title', row: undefined })).toMatch(/has no test/);
    const own = 'a proof that names no test, no title or no row is found out';
    expect(faultOf({ file, title: own, row: ['no', 'such', 'row'].join(' ') })).toMatch(/has no row/);
    expect(faultOf({ file, title: own, row: undefined })).toBeUndefined();
  });

  test('every section from 2 to 9 has rows', () => {
    const sections = new Set(statements.flatMap(({ section }) => /^\d/.exec(section) ?? []));
    expect([...sections].toSorted()).toEqual(['2', '3', '4', '5', '6', '7', '8', '9']);
  });

  test('no statement is listed twice', () => {
    const texts = statements.map(({ section, text }) => `${section}: ${text}`);
    expect(texts.filter((text, index) => texts.indexOf(text) !== index)).toEqual([]);
  });

  test('every error code of section 7 has its own row with its status', () => {
    const rows = new Set(statements.filter(({ section }) => section.startsWith('7')).map(({ text }) => text));
    const missing = Object.entries(tfaErrorStatus).filter(
      ([code, status]) => !rows.has(`\`${code}\` (${status})`),
    );
    expect(missing).toEqual([]);
  });

  test('every endpoint of the specification profile has a row', () => {
    const specified = routes.filter(({ profiles }) => profiles.includes('specification'));
    const named = statements.map(({ text }) => text.replaceAll('/api/v0', '')).join('\n');
    const missing = specified.filter(({ method, path }) => !named.includes(rowName(method, path)));
    expect(missing.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  });

  test.for([
    'min_load',
    'min_cold_load',
    'target_util',
    'cold_mult',
    'cold_workers',
    'endpoint_name',
    'max_workers',
    'max_queue_time',
    'target_queue_time',
    'inactivity_timeout',
  ])('option --%s of specification 4.9 has a row', (option) => {
    const rows = statements.filter(({ section }) => section.startsWith('4.9'));
    expect(rows.some(({ text }) => text.startsWith(`\`--${option}\``))).toBe(true);
  });
});

/** Returns a path in the form of a row: parameters in braces, preceded by the method unless it is an alternative. */
function rowName(method: string, path: string): string {
  const shown = path
    .replace('/api/v0', '')
    .replace('/asks/:id', '/asks/{offer_id}')
    .replaceAll(/:([a-z]+)/g, '{$1}');
  return method === 'POST' && path.includes('/asks/') ? shown : `${method} ${shown}`;
}

/** A citation such as `specification 4.8, 5.6` in a comment, a title or a text; the one of OCI images is another. */
const CITATION = /(?<!image )\bspecification ((?:\d+(?:\.\d+)?(?:, | and | to )?)+)/gi;

/** Returns the statement numbers that a text cites, also across the lines of a comment. */
function citedNumbers(text: string): readonly string[] {
  const joined = text.replaceAll(/\n\s*(?:\*|\/\/) ?/g, ' ');
  return [...joined.matchAll(CITATION)].flatMap(([, numbers = '']) => numbers.match(/\d+(?:\.\d+)?/g) ?? []);
}

describe('a statement number', () => {
  const headings = new Set([...page.matchAll(/^## (\d+(?:\.\d+)?)\.? /gm)].map(([, number = '']) => number));
  const files = globSync('{src,test,scripts,bench,examples}/**/*.ts', { cwd: ROOT.pathname });
  const cited = files.flatMap((file) =>
    citedNumbers(readFileSync(new URL(file, ROOT), 'utf8')).map((number) => ({ file, number })),
  );

  test('is cited by many files', () => {
    expect(new Set(cited.map(({ file }) => file)).size).toBeGreaterThan(50);
  });

  test('has a heading in the page wherever a file cites it', () => {
    const unknown = cited.filter(({ number }) => !headings.has(number));
    expect(unknown.map(({ file, number }) => `${file}: specification ${number}`)).toEqual([]);
  });

  test.for([
    ['(specification 4.3, 4.5 to 4.7, and more)', ['4.3', '4.5', '4.7']],
    ['/* of specification\n * 7 names */', ['7']],
    ['Specification 8.', ['8']],
    ['(of the image specification 1.1)', []],
  ] as const)('is read from %s', ([text, numbers]) => {
    expect(citedNumbers(text)).toEqual(numbers);
  });
});
