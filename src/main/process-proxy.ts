import { ConfigError } from '../config.ts';
import { environmentProxy, type ProxySettings, ProxySettingsError } from '../lib/egress-proxy.ts';

/** Environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the proxy that the environment names; undefined without one. Throws {@link ConfigError} if it cannot be used.
 */
export function processProxy(environment: Environment): ProxySettings | undefined {
  try {
    return environmentProxy(environment);
  } catch (error) {
    throw error instanceof ProxySettingsError ? new ConfigError([error.message]) : error;
  }
}
