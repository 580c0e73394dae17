import { parseDuration } from '../../lib/time.ts';

/** Variables in scope by name: `self`, and those that macros bind. */
type Scope = Readonly<Record<string, unknown>>;

/**
 * A compiled expression. Throws an Error if a field is missing or a value has another type, where CEL fails as well.
 */
export type CelExpression = (scope: Scope) => unknown;

/**
 * Compiles the part of CEL that the rules of an EndpointGroup use: fields, comparisons, logic, `+`, lists, `has`,
 * `exists`, `matches`, `format`, `duration`, `double` and `type`. Throws an Error for anything else, rather than
 * giving it a meaning of its own.
 */
export function compileCel(source: string): CelExpression {
  const parser = new CelParser(tokensOf(source), source);
  return parser.whole();
}

const TOKEN =
  /\s*(?:(?<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?<number>\d+(?:\.\d+)?)|(?<name>[A-Za-z_]\w*)|(?<sign>\|\||&&|[=!<>]=|[!<>?:+().,[\]]))/y;

interface Token {
  readonly type: 'text' | 'number' | 'name' | 'sign' | 'end';
  readonly value: string;
}

function tokensOf(source: string): readonly Token[] {
  const tokens: Token[] = [];
  const text = source.trimEnd();
  for (let end = 0; end < text.length; end = TOKEN.lastIndex) {
    TOKEN.lastIndex = end;
    const groups = TOKEN.exec(text)?.groups;
    if (!groups) throw new Error(`CEL: unexpected "${text[end]}" at ${end} of ${source}`);
    for (const type of ['text', 'number', 'name', 'sign'] as const) {
      const value = groups[type];
      if (value !== undefined) tokens.push({ type, value });
    }
  }
  return tokens;
}

const END: Token = { type: 'end', value: 'the end' };

/** Recursive descent, one method per level of precedence, loosest first. */
class CelParser {
  readonly #tokens: readonly Token[];
  readonly #source: string;
  #at = 0;

  constructor(tokens: readonly Token[], source: string) {
    this.#tokens = tokens;
    this.#source = source;
  }

  whole(): CelExpression {
    const expression = this.#choice();
    if (this.#next.type !== 'end') throw this.#unexpected();
    return expression;
  }

  #choice(): CelExpression {
    const condition = this.#or();
    if (!this.#take('?')) return condition;
    const yes = this.#or();
    this.#expect(':');
    const no = this.#choice();
    return (scope) => (isTrue(condition(scope)) ? yes(scope) : no(scope));
  }

  #or(): CelExpression {
    let left = this.#and();
    while (this.#take('||')) {
      const [before, right] = [left, this.#and()];
      left = (scope) => isTrue(before(scope)) || isTrue(right(scope));
    }
    return left;
  }

  #and(): CelExpression {
    let left = this.#comparison();
    while (this.#take('&&')) {
      const [before, right] = [left, this.#comparison()];
      left = (scope) => isTrue(before(scope)) && isTrue(right(scope));
    }
    return left;
  }

  #comparison(): CelExpression {
    const left = this.#sum();
    const compare = COMPARISONS[this.#next.value];
    if (this.#next.type !== 'sign' || !compare) return left;
    this.#at += 1;
    const right = this.#sum();
    return (scope) => compare(left(scope), right(scope));
  }

  #sum(): CelExpression {
    let left = this.#unary();
    while (this.#take('+')) {
      const [before, right] = [left, this.#unary()];
      left = (scope) => sum(before(scope), right(scope));
    }
    return left;
  }

  #unary(): CelExpression {
    if (!this.#take('!')) return this.#member();
    const operand = this.#unary();
    return (scope) => !isTrue(operand(scope));
  }

  #member(): CelExpression {
    let target = this.#primary();
    while (this.#take('.')) {
      const name = this.#name();
      const before = target;
      target = this.#take('(') ? this.#method(before, name) : (scope) => fieldOf(before(scope), name);
    }
    return target;
  }

  #method(target: CelExpression, name: string): CelExpression {
    if (name === 'exists') return this.#exists(target);
    const method = METHODS[name];
    if (!method) throw this.#unexpected(`method ${name}`);
    const argument = this.#choice();
    this.#expect(')');
    return (scope) => method(target(scope), argument(scope));
  }

  #exists(list: CelExpression): CelExpression {
    const variable = this.#name();
    this.#expect(',');
    const holds = this.#choice();
    this.#expect(')');
    return (scope) => listOf(list(scope)).some((item) => isTrue(holds({ ...scope, [variable]: item })));
  }

  #primary(): CelExpression {
    const { type, value } = this.#next;
    this.#at += 1;
    if (type === 'text')
      return constant(
        value.slice(1, -1).replaceAll(/\\(.)/g, (_, character: string) => ESCAPES[character] ?? character),
      );
    if (type === 'number') return constant(Number(value));
    if (type === 'name') return this.#take('(') ? this.#call(value) : variableOrType(value);
    if (value === '(') {
      const inner = this.#choice();
      this.#expect(')');
      return inner;
    }
    if (value === '[') return this.#list();
    this.#at -= 1;
    throw this.#unexpected();
  }

  #call(name: string): CelExpression {
    if (name === 'has') return this.#has();
    const call = FUNCTIONS[name];
    if (!call) throw this.#unexpected(`function ${name}`);
    const argument = this.#choice();
    this.#expect(')');
    return (scope) => call(argument(scope));
  }

  /** `has(self.a.b)`: the objects before the last field must exist. */
  #has(): CelExpression {
    const path = [this.#name()];
    while (this.#take('.')) path.push(this.#name());
    this.#expect(')');
    const [variable = '', ...fields] = path;
    const last = fields.pop() ?? '';
    return (scope) => {
      const object = fields.reduce(fieldOf, variableOrType(variable)(scope));
      return isObject(object) && object[last] !== undefined;
    };
  }

  #list(): CelExpression {
    const items: CelExpression[] = [];
    while (!this.#take(']')) {
      items.push(this.#choice());
      if (this.#next.value !== ']') this.#expect(',');
    }
    return (scope) => items.map((item) => item(scope));
  }

  get #next(): Token {
    return this.#tokens[this.#at] ?? END;
  }

  #take(sign: string): boolean {
    const isNext = this.#next.type === 'sign' && this.#next.value === sign;
    if (isNext) this.#at += 1;
    return isNext;
  }

  #expect(sign: string): void {
    if (!this.#take(sign)) throw this.#unexpected();
  }

  #name(): string {
    const { type, value } = this.#next;
    if (type !== 'name') throw this.#unexpected();
    this.#at += 1;
    return value;
  }

  #unexpected(what = `"${this.#next.value}"`): Error {
    return new Error(`CEL: unsupported ${what} in ${this.#source}`);
  }
}

const COMPARISONS: Readonly<Record<string, (left: unknown, right: unknown) => boolean>> = {
  '==': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '<': (left, right) => numberOf(left) < numberOf(right),
  '<=': (left, right) => numberOf(left) <= numberOf(right),
  '>': (left, right) => numberOf(left) > numberOf(right),
  '>=': (left, right) => numberOf(left) >= numberOf(right),
};

const FUNCTIONS: Readonly<Record<string, (value: unknown) => unknown>> = {
  duration: (value) => numberOf(parseDuration(textOf(value))),
  double: (value) => Number(value),
  type: (value) => (Number.isInteger(value) ? 'int' : typeof value),
};

const METHODS: Readonly<Record<string, (target: unknown, argument: unknown) => unknown>> = {
  matches: (target, pattern) => new RegExp(textOf(pattern)).test(textOf(target)),
  format: (target, values) => {
    const rest = [...listOf(values)];
    return textOf(target).replaceAll(/%[ds]/g, () => String(rest.shift()));
  },
};

/** Names of types are values in CEL: `type(self) == int`. */
const TYPES: ReadonlySet<string> = new Set(['int', 'string']);

function variableOrType(name: string): CelExpression {
  if (TYPES.has(name)) return constant(name);
  return (scope) => {
    if (!Object.hasOwn(scope, name)) throw new Error(`CEL: unknown name ${name}`);
    return scope[name];
  };
}

const constant =
  (value: unknown): CelExpression =>
  () =>
    value;

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

function sum(left: unknown, right: unknown): unknown {
  return typeof left === 'string' ? left + textOf(right) : numberOf(left) + numberOf(right);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function fieldOf(value: unknown, name: string): unknown {
  if (isObject(value) && value[name] !== undefined) return value[name];
  throw new Error(`CEL: no such field ${name}`);
}

function isTrue(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new Error(`CEL: ${typeof value} where a bool belongs`);
  return value;
}

function numberOf(value: unknown): number {
  if (typeof value !== 'number' || Number.isNaN(value)) throw new Error('CEL: no number');
  return value;
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new Error(`CEL: ${typeof value} where a string belongs`);
  return value;
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`CEL: ${typeof value} where a list belongs`);
  return value;
}
