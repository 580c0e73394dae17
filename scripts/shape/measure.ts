import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { type Node, parseSync, visitorKeys } from 'oxc-parser';

/** A function with a name: a declaration, a method, or a constant or field that holds a function. */
export interface NamedFunction {
  readonly file: string;
  readonly name: string;
  readonly line: number;
  readonly lines: number;
  /** Not exported, or a private method: only its own file can call it. */
  readonly isPrivate: boolean;
  /** Called in one place of its file and named nowhere else in it, its own body aside. */
  readonly hasSingleCaller: boolean;
}

export interface SourceFile {
  readonly path: string;
  readonly lines: number;
  readonly functions: readonly NamedFunction[];
  /** Paths of our own files that it imports, types included. */
  readonly imports: readonly string[];
  /** Functions with a parameter of exactly one of the types `Facts` and `Observed`: they take the whole. */
  readonly wholeTakers: readonly string[];
  /** Interfaces and object types by name. */
  readonly types: ReadonlyMap<string, DeclaredType>;
  /** Names outside its imports, including functions that it calls or passes on. */
  readonly mentions: ReadonlySet<string>;
}

/** A declared type: names of its fields, and names of the types that it mentions. */
export interface DeclaredType {
  readonly fields: readonly string[];
  readonly mentions: readonly string[];
}

interface Found {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly isPrivate: boolean;
}

/** Returns all sources below `root/src` that are no tests. */
export function readSources(root: string): readonly SourceFile[] {
  const paths = globSync('**/*.ts', { cwd: join(root, 'src') });
  return paths
    .filter((path) => !path.endsWith('.test.ts'))
    .toSorted()
    .map((path) => readSource(path, readFileSync(join(root, 'src', path), 'utf8')));
}

/** Returns the shape of one file's text; `path` is below `src`. */
export function readSource(path: string, text: string): SourceFile {
  const { program, module } = parseSync(path, text);
  const names: { readonly name: string; readonly at: number }[] = [];
  const found: Found[] = [];
  const calls: { readonly name: string; readonly at: number }[] = [];
  const wholeTakers: { readonly name: string; readonly at: number }[] = [];
  const types = new Map<string, DeclaredType>();
  const exported = new Set(
    module.staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ localName }) => (localName.name ? [localName.name] : [])),
    ),
  );
  walk(program, (node, isTop) => {
    if (node.type === 'Identifier' || node.type === 'PrivateIdentifier') {
      names.push({ name: nameOf(node) ?? '', at: node.start });
    }
    if (node.type === 'CallExpression' || node.type === 'NewExpression') {
      const { callee } = node;
      const name = nameOf(callee.type === 'MemberExpression' ? callee.property : callee);
      if (name) calls.push({ name, at: callee.start });
    }
    const declared = declaredType(node);
    if (declared) types.set(...declared);
    if (takesWhole(node)) wholeTakers.push({ name: functionName(node), at: node.start });
    const definition = definitionOf(node);
    if (definition) {
      const isOpen = isTop && exported.has(definition.name);
      found.push({ ...definition, isPrivate: definition.isPrivate && !isOpen });
    }
  });
  const lineStarts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const lineOf = (offset: number) => lineStarts.findLastIndex((start) => start <= offset) + 1;
  const functions = found.map(({ name, start, end, isPrivate }) => ({
    file: path,
    name,
    line: lineOf(start),
    lines: lineOf(end) - lineOf(start) + 1,
    isPrivate,
    hasSingleCaller: [names, calls].every(
      (list) =>
        list.filter((other) => other.name === name && (other.at < start || other.at > end)).length === 1,
    ),
  }));
  const imports = [...module.staticImports, ...module.staticExports.flatMap(({ entries }) => entries)]
    .flatMap(({ moduleRequest }) => (moduleRequest ? [moduleRequest.value] : []))
    .filter((request) => request.startsWith('.'))
    .map((request) => normalize(join(dirname(path), request)));
  const mentions = new Set(names.map(({ name }) => name.replace('#', '')));
  return {
    path,
    lines: lineStarts.length - 1,
    functions,
    imports: [...new Set(imports)],
    wholeTakers: wholeTakers.map(({ name, at }) => `src/${path}:${lineOf(at)} ${name}`),
    types,
    mentions,
  };
}

function walk(node: Node, visit: (node: Node, isTop: boolean) => void, depth = 0): void {
  if (node.type === 'ImportDeclaration') return;
  visit(node, depth <= 3);
  for (const key of visitorKeys[node.type] ?? []) {
    const child = (node as unknown as Record<string, Node | (Node | null)[] | null>)[key];
    for (const each of Array.isArray(child) ? child : [child]) if (each) walk(each, visit, depth + 1);
  }
}

/** The types of a whole observation: a function with a parameter of one depends on each of its fields. */
const WHOLE: ReadonlySet<string | undefined> = new Set(['Facts', 'Observed']);

function takesWhole(node: Node): boolean {
  if (node.type !== 'FunctionDeclaration' && !FUNCTIONS.has(node.type)) return false;
  const { params } = node as unknown as { readonly params: readonly Node[] };
  return params.some((param) => WHOLE.has(annotatedType(param)));
}

function annotatedType(param: Node): string | undefined {
  const { typeAnnotation } = param as { readonly typeAnnotation?: { readonly typeAnnotation: Node } | null };
  return typeAnnotation ? referenceOf(typeAnnotation.typeAnnotation) : undefined;
}

function referenceOf(node: Node): string | undefined {
  return node.type === 'TSTypeReference' ? nameOf(node.typeName) : undefined;
}

function functionName(node: Node): string {
  const { id } = node as unknown as { readonly id?: Node | null };
  return (id && nameOf(id)) ?? 'function without a name';
}

function declaredType(node: Node): readonly [string, DeclaredType] | undefined {
  if (node.type !== 'TSInterfaceDeclaration' && node.type !== 'TSTypeAliasDeclaration') return undefined;
  const fields: string[] = [];
  const mentions: string[] = [];
  walk(node, (each) => {
    const field = each.type === 'TSPropertySignature' ? nameOf(each.key) : undefined;
    if (field !== undefined) fields.push(field);
    const base = each.type === 'TSInterfaceHeritage' ? nameOf(each.expression) : referenceOf(each);
    if (base !== undefined) mentions.push(base);
  });
  return [node.id.name, { fields, mentions }];
}

/**
 * Returns the names of fields on the way from the type `from`, by the types that `files` declare; each name counts
 * once.
 */
export function namesOnWalk(files: readonly SourceFile[], from: string): readonly string[] {
  const declared = new Map(files.flatMap(({ types }) => [...types]));
  const seen = new Set([from]);
  const names = new Set<string>();
  for (const type of seen) {
    const { fields = [], mentions = [] } = declared.get(type) ?? {};
    for (const field of fields) names.add(field);
    for (const mention of mentions) if (declared.has(mention)) seen.add(mention);
  }
  return [...names];
}

function nameOf(node: { readonly type: string }): string | undefined {
  if (node.type === 'PrivateIdentifier') return `#${(node as { name?: string }).name}`;
  return node.type === 'Identifier' ? (node as { name?: string }).name : undefined;
}

const FUNCTIONS: ReadonlySet<string | undefined> = new Set(['ArrowFunctionExpression', 'FunctionExpression']);

function definitionOf(node: Node): Found | undefined {
  const { start, end } = node;
  if (node.type === 'FunctionDeclaration' && node.id) {
    return { name: node.id.name, start, end, isPrivate: true };
  }
  if (node.type === 'VariableDeclarator' && FUNCTIONS.has(node.init?.type)) {
    const name = nameOf(node.id);
    return name === undefined ? undefined : { name, start, end, isPrivate: true };
  }
  if (
    node.type === 'MethodDefinition' ||
    (node.type === 'PropertyDefinition' && FUNCTIONS.has(node.value?.type))
  ) {
    const name = nameOf(node.key);
    return name === undefined ? undefined : { name, start, end, isPrivate: name.startsWith('#') };
  }
  return undefined;
}

/** Returns the folder of a file: its layer, or its controller. */
export function folderOf(path: string): string {
  const [layer = '', name = '', ...rest] = path.split('/');
  if (name === '') return layer.replace(/\.ts$/, '');
  return layer === 'controllers' && rest.length > 0 ? `${layer}/${name}` : layer;
}

/** Returns the folders from which a folder's files import. */
export function folderDependencies(files: readonly SourceFile[]): ReadonlyMap<string, ReadonlySet<string>> {
  const dependencies = new Map<string, Set<string>>();
  for (const { path, imports } of files) {
    const from = folderOf(path);
    const targets = dependencies.get(from) ?? new Set();
    dependencies.set(from, targets);
    for (const target of imports) if (folderOf(target) !== from) targets.add(folderOf(target));
  }
  return dependencies;
}

/** Two sub-folders of the same folder that import each other, with the imports of the way that has fewer. */
export interface MutualPair {
  readonly folders: readonly [string, string];
  /** `importer → imported`: without them the pair is none. */
  readonly imports: readonly string[];
}

/**
 * Returns the mutual pairs of sub-folders in every folder below `src`, types included; layers count as {@link cyclesOf}
 * does.
 */
export function mutualPairs(files: readonly SourceFile[]): readonly MutualPair[] {
  const ways = new Map<string, string[]>();
  for (const { path, imports } of files) {
    for (const target of imports) {
      const way = siblingFolders(path, target);
      if (way) ways.set(way, [...(ways.get(way) ?? []), `${path} → ${target}`]);
    }
  }
  return [...ways].flatMap(([way, there]) => {
    const [from = '', to = ''] = way.split(' ');
    const back = from < to ? ways.get(`${to} ${from}`) : undefined;
    if (!back) return [];
    return [{ folders: [from, to] as const, imports: there.length <= back.length ? there : back }];
  });
}

/**
 * Returns the two sub-folders, `from to`, where paths diverge; undefined if a file is at that point, or layers diverge
 * there.
 */
function siblingFolders(from: string, to: string): string | undefined {
  const [left, right] = [from.split('/'), to.split('/')];
  const parting = left.findIndex((part, index) => part !== right[index]);
  if (parting < 1 || parting >= left.length - 1 || parting >= right.length - 1) return undefined;
  return [left, right].map((parts) => parts.slice(0, parting + 1).join('/')).join(' ');
}

/** Folders that reach each other: each group is one cycle, whatever number of ways lead round it. */
export function cyclesOf(
  dependencies: ReadonlyMap<string, ReadonlySet<string>>,
): readonly (readonly string[])[] {
  const reached = new Map([...dependencies.keys()].map((name) => [name, reachable(name, dependencies)]));
  const groups = [...reached.keys()].map((name) =>
    [...(reached.get(name) ?? [])].filter((other) => reached.get(other)?.has(name)).toSorted(),
  );
  return [
    ...new Map(groups.filter((group) => group.length > 0).map((group) => [group.join(), group])).values(),
  ];
}

function reachable(
  from: string,
  dependencies: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlySet<string> {
  const seen = new Set<string>();
  const open = [from];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    for (const next of dependencies.get(name) ?? []) {
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(next);
    }
  }
  return seen;
}

/** Rows of the declared path that the sources no longer show. */
export function brokenTransfers(
  files: readonly SourceFile[],
  path: readonly (readonly [caller: string, callee: string, call: string])[],
): readonly string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  return path.flatMap(([caller, callee, call]) => {
    const isThere = byPath.has(callee) && byPath.get(caller)?.mentions.has(call);
    return isThere ? [] : [`${caller} → ${callee} (${call})`];
  });
}

/** Returns the number of rows of the path to a file that calls no other file of it. */
export function leafTransfers(
  path: readonly (readonly [caller: string, callee: string, call: string])[],
): number {
  const callers = new Set(path.map(([caller]) => caller));
  return path.filter(([, callee]) => !callers.has(callee)).length;
}

/** Returns the value at `share` of the sorted numbers. */
export function quantile(numbers: readonly number[], share: number): number {
  return numbers.toSorted((left, right) => left - right)[Math.floor((numbers.length - 1) * share)] ?? 0;
}
