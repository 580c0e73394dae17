import { randomBytes } from 'node:crypto';

/** The label of all containers and networks of a session; its value is the session's id. */
export const SESSION_LABEL = 'gpurental.dev/test-session';

export const randomId = (): string => randomBytes(4).toString('hex');

/** Returns the image of a session. The name's registry cannot be pulled from. */
export const sessionImage = (id: string): string => `localhost/gpu-rental-operator:test-${id}`;
