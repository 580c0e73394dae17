import type { FigureName, ReadReply } from './figures.ts';
import { believable, believableIfGiven, FigureError, measuredPerf } from './record.ts';

/** Reads a worker's JSON: amounts since its last answer, found by path such as `load.current`. */
export const readJsonReply: ReadReply = (text, { figures }) => {
  const reply = parsed(text);
  const at = (figure: FigureName) => {
    const path = figures[figure];
    return path === undefined ? undefined : valueAt(reply, path);
  };
  const name = (figure: FigureName) => figures[figure] ?? figure;
  const error = at('error');
  return {
    arrived: {
      type: 'amount',
      newLoad: believable(name('newLoad'), at('newLoad')),
      rejectedLoad: believableIfGiven(name('rejectedLoad'), at('rejectedLoad')) ?? 0,
    },
    currentLoad: believableIfGiven(name('currentLoad'), at('currentLoad')) ?? 0,
    waitingLoad: believableIfGiven(name('waitingLoad'), at('waitingLoad')),
    maxPerf: measuredPerf(name('maxPerf'), at('maxPerf')),
    inFlight: believableIfGiven(name('inFlight'), at('inFlight')),
    error: typeof error === 'string' ? error.slice(0, 256) : '',
  };
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new FigureError('the reply is not JSON');
  }
}

/** A key with dots in it is found before a path of that spelling. */
function valueAt(reply: unknown, path: string): unknown {
  if (!isRecord(reply)) throw new FigureError('the reply is not a JSON object');
  if (Object.hasOwn(reply, path)) return reply[path];
  let value: unknown = reply;
  for (const key of path.split('.')) {
    if (!isRecord(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
