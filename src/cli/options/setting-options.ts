import { flagName } from '../../config.ts';
import type { CommandOption } from '../command.ts';

interface SettingShape {
  readonly placeholder: string;
  readonly description: string;
  readonly defaultValue?: string | readonly string[];
  readonly list?: boolean;
}

/**
 * Returns the settings of a process as flags. Values stay texts here: the settings validate them together with the
 * environment.
 */
export function settingOptions(settings: Readonly<Record<string, SettingShape>>): readonly CommandOption[] {
  return Object.entries(settings).map(([name, setting]) => {
    const isSwitch = setting.placeholder === 'true|false';
    const value = isSwitch ? `[${setting.placeholder}]` : `<${setting.placeholder}>`;
    const standard = setting.defaultValue === undefined ? '' : String(setting.defaultValue);
    return {
      flags: `${flagName(name)} ${value}`,
      description: standard === '' ? setting.description : `${setting.description} (default: ${standard})`,
      ...(setting.list && { repeatable: true }),
      // The parser of the settings checks it, together with its environment variable.
      mayBeEmpty: true,
    };
  });
}
