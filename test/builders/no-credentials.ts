import type { Credentials } from '../../src/runtime/kube/credentials.ts';

/** For an API server that asks for none. */
export const noCredentials: Credentials = { headers: async () => ({}) };
