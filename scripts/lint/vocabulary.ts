/**
 * The rule `vocabulary/words` of oxlint: refuses words that only this project used where Kubernetes has a term, in
 * the names that a source declares, in names of files, and in titles of tests.
 */
import { basename } from 'node:path';

/** Replacement of a refused word, with all its forms. */
const NAMES = insteadOf([
  ['aftermath', 'outcome'],
  ['anew', 'again'],
  ['awaited', 'deferred'],
  ['bend bends bent', 'mutate'],
  ['birth births', 'surge'],
  ['blame blamed blames', 'report a host failure'],
  ['book books', 'state, records'],
  ['booking bookings', 'reservation'],
  ['census', 'inventory'],
  ['crew hands hire', 'worker pool, slots'],
  ['dear dearer dearest', 'expensive'],
  ['deed deeds', 'action'],
  ['door doors', 'server, input, entry point'],
  ['farewell farewells', 'teardown event'],
  ['glance glances sight sights', 'poll, snapshot'],
  ['hear hears heard', 'onEvent, receive'],
  ['look looks looked looking', 'read, poll, requeue'],
  ['mend mends mended', 'fix, repair'],
  ['news', 'event'],
  ['nobody somebody someone whoever', 'the component that acts'],
  ['office', 'admission'],
  ['ours whose', 'owned, owner'],
  ['park parked parks', 'scale down'],
  ['say says said saying', 'set a condition, describe'],
  ['spared', 'exempt'],
  ['stranger strangers', 'unknown'],
  ['struck', 'targeted'],
  ['tell tells told untold', 'emit, report'],
  ['unclaimed', 'orphan'],
  ['wish wishes wanted', 'desired'],
  ['word', 'status, token'],
  ['worth', 'value'],
]);

/** Titles are sentences: some of these words are plain English there, and some phrases are not. */
const TITLES = insteadOf([
  ['anew', 'again'],
  ['blame blamed blames', 'reports a host failure'],
  ['census', 'inventory'],
  ['deed deeds', 'action'],
  ['farewell', 'teardown event'],
  ['hear hears heard', 'receives'],
  ['mend mends mended', 'fixes, repairs'],
  ['nobody somebody someone whoever', 'the component that acts'],
  ['shall', 'must'],
  ['stands', 'is'],
  ['stranger strangers', 'unknown'],
  ['tell tells told untold', 'emits, reports'],
  ['unclaimed', 'orphaned'],
  ['wish wishes', 'desired'],
]);

function insteadOf(
  rows: readonly (readonly [words: string, instead: string])[],
): ReadonlyMap<string, string> {
  return new Map(
    rows.flatMap(([words, instead]) => words.split(' ').map((word) => [word, instead] as const)),
  );
}

/** Maxima and minima are MAX_ and MIN_. */
const SUPERLATIVE = /^(MOST|LEAST|LONGEST|DEAREST)_/;

/** A refused word and what to say instead. */
export interface Refused {
  readonly word: string;
  readonly instead: string;
}

/** Returns the refused words of a name in camelCase, kebab-case or CONSTANT_CASE. */
export function refusedInName(name: string): readonly Refused[] {
  const superlative = SUPERLATIVE.exec(name)?.[1];
  const first = superlative === undefined ? [] : [{ word: superlative.toLowerCase(), instead: 'MAX_, MIN_' }];
  return [...first, ...refusedOf(name.replace(/([a-z0-9])([A-Z])/g, '$1 $2'), NAMES)];
}

/** Returns the refused words of a test's title. Words in `code quotes` are names of things outside, such as a field. */
export function refusedInTitle(title: string): readonly Refused[] {
  return refusedOf(title.replace(/`[^`]*`/g, ''), TITLES);
}

function refusedOf(text: string, words: ReadonlyMap<string, string>): readonly Refused[] {
  return text
    .toLowerCase()
    .split(/[^a-z]+/)
    .flatMap((word) => {
      const instead = words.get(word);
      return instead === undefined ? [] : [{ word, instead }];
    });
}

/** The part of oxlint's syntax tree that the rule reads. */
interface Node {
  readonly type: string;
  readonly name?: unknown;
  readonly id?: Node | null;
  readonly key?: Node;
  readonly value?: unknown;
  readonly params?: readonly Node[];
  readonly callee?: Node;
  readonly object?: Node;
  readonly tag?: Node;
  readonly arguments?: readonly Node[];
  readonly quasis?: readonly { readonly value: { readonly raw: string } }[];
}

interface RuleContext {
  readonly filename: string;
  report(finding: { readonly node: Node; readonly message: string }): void;
}

function create(context: RuleContext) {
  const report = (node: Node, refused: readonly Refused[], where: 'name' | 'title') => {
    for (const { word, instead } of refused) {
      context.report({
        node,
        message: `"${word}" in a ${where}: use ${instead}, see docs/concepts/glossary.md.`,
      });
    }
  };
  const isTest = context.filename.endsWith('.test.ts');
  const checkFile = (node: Node) => {
    const name = basename(context.filename).replace(/(\.integration|\.verify|\.bench)?(\.test)?\.ts$/, '');
    report(node, refusedInName(name), 'name');
  };
  if (isTest) {
    return {
      Program: checkFile,
      CallExpression(node: Node) {
        const title = node.arguments?.[0];
        if (title && isTestCall(node.callee)) report(title, refusedInTitle(textOf(title)), 'title');
      },
      Property(node: Node) {
        if (node.key?.name !== 'title') return;
        const title = node.value as Node;
        report(title, refusedInTitle(textOf(title)), 'title');
      },
    };
  }
  const checkName = (node: Node | null | undefined) => {
    if (node && typeof node.name === 'string') report(node, refusedInName(node.name), 'name');
  };
  const checkId = (node: Node) => checkName(node.id);
  const checkKey = (node: Node) => checkName(node.key);
  const checkFunction = (node: Node) => {
    checkName(node.id);
    for (const parameter of node.params ?? []) checkName(parameter);
  };
  return {
    Program: checkFile,
    VariableDeclarator: checkId,
    FunctionDeclaration: checkFunction,
    FunctionExpression: checkFunction,
    ArrowFunctionExpression: checkFunction,
    ClassDeclaration: checkId,
    TSInterfaceDeclaration: checkId,
    TSTypeAliasDeclaration: checkId,
    MethodDefinition: checkKey,
    PropertyDefinition: checkKey,
    TSPropertySignature: checkKey,
    TSMethodSignature: checkKey,
  };
}

const TEST_CALLS: ReadonlySet<unknown> = new Set(['test', 'it', 'describe']);

/** `test(…)`, `test.skip(…)`, `test.each(rows)(…)`, but not `test.each(rows)` itself. */
function isTestCall(callee: Node | undefined): boolean {
  let node = callee;
  while (node && node.type !== 'Identifier') node = node.callee ?? node.object ?? node.tag;
  return TEST_CALLS.has(node?.name);
}

function textOf(node: Node): string {
  if (node.type === 'TemplateLiteral') return (node.quasis ?? []).map(({ value }) => value.raw).join(' ');
  return typeof node.value === 'string' ? node.value : '';
}

export default { meta: { name: 'vocabulary' }, rules: { words: { meta: { schema: false }, create } } };
