import { randomBytes } from 'node:crypto';

/** The label of all containers and networks of a session; its value is the session's id. */
export const SESSION_LABEL = 'gpurental.dev/test-session';

export const randomId = (): string => randomBytes(4).toString('hex');

/** The image of a session. The name has no registry, from which an engine could pull another one. */
export const sessionImage = (id: string): string => `localhost/gpu-rental-operator:test-${id}`;
