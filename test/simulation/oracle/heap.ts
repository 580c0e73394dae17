import { Session } from 'node:inspector/promises';

/**
 * Which of `names` are keys of any Map, or members of any Set, that is still alive in this process. Collects garbage
 * first, so that only what something holds is found.
 */
export async function rememberedNames(names: readonly string[]): Promise<readonly string[]> {
  const session = new Session();
  session.connect();
  try {
    const found = await Promise.all(
      ['Map.prototype', 'Set.prototype'].map((prototype) => keysAmong(session, prototype, names)),
    );
    return [...new Set(found.flat())];
  } finally {
    session.disconnect();
  }
}

async function keysAmong(
  session: Session,
  prototype: string,
  names: readonly string[],
): Promise<readonly string[]> {
  const { result } = await session.post('Runtime.evaluate', { expression: prototype });
  const { objects } = await session.post('Runtime.queryObjects', {
    prototypeObjectId: result.objectId ?? '',
  });
  const { result: found, exceptionDetails } = await session.post('Runtime.callFunctionOn', {
    objectId: objects.objectId ?? '',
    functionDeclaration: KEYS_AMONG,
    arguments: [{ value: names.join(' ') }],
    returnByValue: true,
  });
  if (exceptionDetails) throw new Error(`the collections could not be read: ${exceptionDetails.text}`);
  const text: unknown = found.value;
  return typeof text === 'string' && text !== '' ? text.split(' ') : [];
}

/** Runs in the inspector, over the collections found; prototypes of their subclasses are among them, and hold nothing. */
const KEYS_AMONG = `function (text) {
  const holds = (each, name) => {
    try {
      return each.has(name);
    } catch {
      return false;
    }
  };
  return text.split(' ').filter((name) => this.some((each) => holds(each, name))).join(' ');
}`;
