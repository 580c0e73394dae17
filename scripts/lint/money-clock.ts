/**
 * The rule `money-clock/wall` of oxlint: refuses the operator's wall clock as the time of a cost or of the end of a
 * machine. Machines are dated by the marketplace's clock, and a cost that is written once is never recalculated.
 */

/** Functions that write or sum a cost up to a time, and those that date the begin or the end of a machine. */
const DATING = new Set([
  ...[
    'beginCost',
    'corrected',
    'costFromStop',
    'endCost',
    'pricedSince',
    'repriced',
    'totalCost',
    'unpriced',
  ],
  ...['withReport', 'ended', 'endedFields', 'goneAt', 'missingBy', 'rentedFacts', 'rentedFields'],
]);

/** Functions that take the wall clock as a witness, or for a marketplace that never sends its time. */
const BY_SERVICE = new Set(['believedNow', 'confirmedNow', 'serviceNow', 'timeOfAnswer']);

const MESSAGE =
  "The operator's wall clock may be wrong by an hour: a cost or an end takes clock.believedNow, or a recorded time.";

/** The part of oxlint's syntax tree that the rule reads. */
interface Node {
  readonly type: string;
  readonly name?: unknown;
  readonly id?: Node | null;
  readonly init?: Node | null;
  readonly key?: Node;
  readonly value?: unknown;
  readonly callee?: Node;
  readonly object?: Node;
  readonly property?: Node;
  readonly arguments?: readonly Node[];
}

interface RuleContext {
  report(finding: { readonly node: Node; readonly message: string }): void;
}

/** Constants of one function, and the expressions in it that date money. */
interface Frame {
  readonly constants: Map<unknown, Node>;
  readonly dates: Node[];
}

function create(context: RuleContext) {
  const frames: Frame[] = [];
  const enter = () => {
    frames.push({ constants: new Map(), dates: [] });
  };
  const exit = () => {
    const frame = frames.pop();
    for (const date of frame?.dates ?? []) {
      const node = frame && wallClockIn(date, frame.constants, new Set());
      if (node) context.report({ node, message: MESSAGE });
    }
  };
  return {
    ...{ FunctionDeclaration: enter, FunctionExpression: enter, ArrowFunctionExpression: enter },
    ...{ 'FunctionDeclaration:exit': exit, 'FunctionExpression:exit': exit },
    'ArrowFunctionExpression:exit': exit,
    VariableDeclarator({ id, init }: Node) {
      if (id?.type === 'Identifier' && init) frames.at(-1)?.constants.set(id.name, init);
    },
    CallExpression({ callee, arguments: given = [] }: Node) {
      if (DATING.has(String(callee?.name))) frames.at(-1)?.dates.push(...given);
    },
    Property({ key, value }: Node) {
      if (key?.name === 'endedAt' && isNode(value)) frames.at(-1)?.dates.push(value);
    },
  };
}

/** Returns the first wall clock in an expression, or in a constant that it names; undefined without one. */
function wallClockIn(node: Node, constants: ReadonlyMap<unknown, Node>, seen: Set<Node>): Node | undefined {
  if (seen.has(node)) return undefined;
  seen.add(node);
  if (isWallClock(node)) return node;
  if (node.type === 'CallExpression' && BY_SERVICE.has(String(node.callee?.name))) return undefined;
  const constant = node.type === 'Identifier' ? constants.get(node.name) : undefined;
  const parts = [...(constant ? [constant] : []), ...partsOf(node)];
  for (const part of parts) {
    const found = wallClockIn(part, constants, seen);
    if (found) return found;
  }
  return undefined;
}

function isWallClock({ type, object, property }: Node): boolean {
  const owner = object?.type === 'MemberExpression' ? object.property : object;
  return type === 'MemberExpression' && property?.name === 'now' && owner?.name === 'clock';
}

function partsOf(node: Node): readonly Node[] {
  const below = Object.entries(node).flatMap(([name, part]) => (name === 'parent' ? [] : [part].flat()));
  return below.filter(isNode);
}

function isNode(part: unknown): part is Node {
  return typeof part === 'object' && part !== null && 'type' in part && typeof part.type === 'string';
}

export default { meta: { name: 'money-clock' }, rules: { wall: { create } } };
