/**
 * Refuses doc comments without a subject, and phrases that need a second reading, in comments and run-time
 * messages of {@link FOLDERS}. `node scripts/lint/doc-comments.ts [FOLDER...]` prints the findings and fails
 * if there are any.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ProseFinding, refusedProse } from './prose.ts';

/** Folders that `main` checks by default. */
const FOLDERS = ['bench', 'scripts', 'src', 'test'];

/** Tests whose texts quote refused phrases. */
const QUOTING: ReadonlySet<string> = new Set(['test/docs/prose.test.ts', 'test/lint/doc-comments.test.ts']);

/** Words that begin a clause without a subject. A doc comment begins with a noun or a verb. */
const CLAUSE_OPENERS: ReadonlySet<string> = new Set([
  ...['what', 'whatever', 'whether', 'where', 'who', 'whom', 'whose', 'whoever', 'which', 'why', 'how'],
  ...['that', 'those', 'it', 'its', 'of', 'as', 'one', 'by', 'since', 'so', 'something', 'everything'],
]);

/** Words in -s that are no verbs of an action. */
const NO_VERBS = /^(this|its|as|has|is|was|does|always|thus|plus|ids|uids|urls|bytes|words|perhaps|besides)$/;

interface Rule {
  readonly pattern: RegExp;
  readonly instead: string;
}

/** Phrases of comments and messages, beside those that {@link refusedProse} refuses of every text. */
const PHRASES: readonly Rule[] = [
  { pattern: /\b(undefined|null|true|false|even|except|throws|rejects) where\b/, instead: 'if' },
  { pattern: /\bwhere (there (is|are)|(it|one|that) (is|has|does|may)|none|nothing|no)\b/, instead: 'if' },
  {
    pattern: /\b(is|are) (asked|judged|looked at|passed over|let)\b/,
    instead: 'name the component that acts',
  },
  { pattern: /\b(is|are) told\b/, instead: 'is reported, or name the component that reports' },
  { pattern: /\bif (it|that|this|the text|the value) is (none|one)\b/, instead: 'repeat the noun' },
  { pattern: /\b(of )?(ours|theirs)\b/, instead: 'owned by the operator, or the owner' },
  { pattern: /\bso (many|much) (as|of|characters|bytes)\b/, instead: 'at most, with the number' },
  { pattern: /\b(is|are) no more than\b/, instead: 'is at most' },
  { pattern: /\bwhat(ever)? (it|they|this|that) (is|are|was|were)\b/, instead: 'a noun' },
  { pattern: /\bstands? for ever\b/, instead: 'stays' },
];

/** Kind of declaration that a comment documents. */
export type Documented = 'function' | 'other';

/** Returns the findings of a doc comment's text; the line of a finding counts from 1 within the text. */
export function refusedInComment(text: string, of: Documented): readonly ProseFinding[] {
  return [...refusedOpening(text, of), ...refusedInMessage(text)];
}

/** Returns the findings of a message of the operator or of a command. */
export function refusedInMessage(text: string): readonly ProseFinding[] {
  const quoted = text.replace(/`[^`]*`/g, '`');
  const phrases = PHRASES.flatMap(({ pattern, instead }) => {
    const match = new RegExp(pattern, 'i').exec(quoted);
    return match === null ? [] : [{ line: lineAt(quoted, match.index), found: match[0], instead }];
  });
  return [...phrases, ...refusedProse(text)];
}

function refusedOpening(text: string, of: Documented): readonly ProseFinding[] {
  const first = /^[A-Za-z]+(?![\w.(])/.exec(text)?.[0];
  if (first === undefined) return [];
  if (CLAUSE_OPENERS.has(first.toLowerCase())) {
    return [{ line: 1, found: first, instead: 'a noun or a verb that names the subject' }];
  }
  if (of === 'other' || isVerb(first)) return [];
  return [{ line: 1, found: first, instead: 'a verb in the third person: Returns, Throws, Sends' }];
}

const isVerb = (word: string): boolean => /^[A-Z][a-z]+s$/.test(word) && !NO_VERBS.test(word.toLowerCase());

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}

/** A doc comment of a source, without its asterisks. */
interface DocComment {
  readonly line: number;
  readonly text: string;
  readonly of: Documented;
}

/** Returns the doc comments of a source. */
export function docCommentsOf(source: string): readonly DocComment[] {
  return [...source.matchAll(/^[ \t]*\/\*\*([\s\S]*?)\*\/[ \t]*\n?/gm)].map((match) => ({
    line: lineAt(source, match.index),
    text: (match[1] ?? '').replace(/\n[ \t]*\*[ \t]?/g, '\n').trim(),
    of: isFunction(source.slice(match.index + match[0].length, match.index + match[0].length + 400))
      ? 'function'
      : 'other',
  }));
}

/** Returns true if a declaration is that of a function, a method or an arrow function. */
function isFunction(declaration: string): boolean {
  return (
    /^\s*(export )?(default )?(async )?function\b/.test(declaration) ||
    /^\s*(static |async |\*)*(?!get |set |constructor|if\b)#?\w+(<[^(=]*>)?\(/.test(declaration) ||
    /^\s*(export )?const \w+(: [^=]+)? = (async )?(<[^(]*>)?(\w+|\([^()]*(\([^()]*\)[^()]*)*\))(: [^={]+)? =>/.test(
      declaration,
    )
  );
}

/** Returns the sentences in string literals of a source: at least four words, the first in upper case. */
export function messagesOf(source: string): readonly { readonly line: number; readonly text: string }[] {
  const code = source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, (comment) => comment.replace(/[^\n]/g, ''));
  return [...code.matchAll(/'((?:[^'\\\n]|\\.)+)'|"((?:[^"\\\n]|\\.)+)"|`((?:[^`\\]|\\.)+)`/g)].flatMap(
    (match) => {
      const text = (match[1] ?? match[2] ?? match[3] ?? '').replace(/\$\{[^{}]*\}/g, 'X');
      return /^[A-Z][\w']*( \S+){3}/.test(text) ? [{ line: lineAt(code, match.index), text }] : [];
    },
  );
}

function findingsOf(path: string): readonly string[] {
  const source = readFileSync(path, 'utf8');
  return [
    ...docCommentsOf(source).map(({ line, text, of }) => ({ line, findings: refusedInComment(text, of) })),
    ...messagesOf(source).map(({ line, text }) => ({ line, findings: refusedInMessage(text) })),
  ].flatMap(({ line, findings }) =>
    findings.map(
      ({ line: within, found, instead }) => `${path}:${line + within - 1}: "${found}": write ${instead}.`,
    ),
  );
}

function main(folders: readonly string[]): void {
  const paths = folders.flatMap((folder) =>
    folder.endsWith('.ts') ? folder : globSync(join(folder, '**/*.ts')),
  );
  const findings = paths
    .filter((path) => !QUOTING.has(path))
    .sort()
    .flatMap(findingsOf);
  for (const finding of findings) console.error(finding);
  process.exitCode = findings.length === 0 ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  main(process.argv.length > 2 ? process.argv.slice(2) : FOLDERS);
}
