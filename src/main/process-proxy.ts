import { ConfigError } from '../config.ts';
import { environmentProxy, type ProxySettings, ProxySettingsError } from '../lib/egress-proxy.ts';

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The proxy that the variables of a process name. Throws {@link ConfigError} if they cannot be used. */
export function processProxy(environment: Environment): ProxySettings | undefined {
  try {
    return environmentProxy(environment);
  } catch (error) {
    throw error instanceof ProxySettingsError ? new ConfigError([error.message]) : error;
  }
}
