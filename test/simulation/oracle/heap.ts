import { Session } from 'node:inspector/promises';

/**
 * Returns those of `names` that are keys of a living Map, or members of a living Set, in this process. It collects
 * garbage first, so that only referenced ones are found.
 */
export async function rememberedNames(names: readonly string[]): Promise<readonly string[]> {
  const session = new Session();
  session.connect();
  try {
    return await keysAmong(session, names);
  } finally {
    session.disconnect();
  }
}

/**
 * Searches all objects at once: the collection before each search is expensive, a dozen times as long as a usual one.
 */
async function keysAmong(session: Session, names: readonly string[]): Promise<readonly string[]> {
  const { result } = await session.post('Runtime.evaluate', { expression: 'Object.prototype' });
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

/** Runs in the inspector, over all objects; prototypes of collections are among them, and hold nothing. */
const KEYS_AMONG = `function (text) {
  const isCollection = (each) => each instanceof Map || each instanceof Set;
  const holds = (each, name) => {
    try {
      return each.has(name);
    } catch {
      return false;
    }
  };
  const collections = this.filter(isCollection);
  return text.split(' ').filter((name) => collections.some((each) => holds(each, name))).join(' ');
}`;
