import packageJson from '../../../package.json' with { type: 'json' };
import { systemClock } from '../../lib/clock.ts';
import { systemRandom } from '../../lib/random.ts';
import { AgentServer } from '../agent/agent-server.ts';
import { serve } from '../agent/protocol.ts';
import type { Command, OptionValues } from '../command.ts';
import { EXIT, usageError } from '../command-error.ts';
import { LOG_ADDRESS_OPTIONS, logAddress } from '../logs/log-address.ts';
import { dollarsOption, numberOption, switchOption, textOption } from '../option-values.ts';
import { withCluster } from '../sessions/cluster-session.ts';

const DEFAULT_AGENT = 'agent';

/** Serves tools for agents on stdin and stdout. */
export const mcpCommand: Command = {
  description:
    'A server of the Model Context Protocol for one namespace: an agent plans, runs, watches and ends machines with it, within limits that you set. It has no tool for Secrets, accounts, adoption, kubectl or SSH. The limits count the objects with the label of the agent in the cluster, so they also hold for several servers and after a restart; deleting ended objects gives their cost back. Its kubeconfig needs no more than the Role of docs/how-to/agents.md.',
  examples: [
    'gpu-rent mcp -n research --max-total 25 --max-machines 2',
    'gpu-rent mcp --kubeconfig agent.yaml --agent coder --max-total 5 --max-machines 1',
  ],
  options: [
    {
      flags: '--max-total <dollars>',
      description: "Maximum total cost of all of the agent's objects, ended ones included. Required.",
    },
    { flags: '--max-machines <n>', description: 'Maximum number of machines at a time. Required.' },
    {
      flags: '--agent <name>',
      description: 'Value of the label gpurental.dev/agent on its objects. Default: agent.',
    },
    {
      flags: '--any',
      description:
        'Let status, logs and stop see every GpuInstance of the namespace, not only those of the agent.',
    },
    ...LOG_ADDRESS_OPTIONS,
  ],
  optionSets: ['cluster', 'marketplace'],
  async run(input, context) {
    const limits = limitsOf(input.options);
    const agent = agentOf(input.options);
    const address = logAddress(input.options, context.env);
    return withCluster(input, context, async (cluster) => {
      if (cluster.namedNamespace === undefined)
        throw usageError(
          'The kubeconfig names no namespace, and the agent needs one of its own.',
          'Give -n NAMESPACE.',
        );
      const any = switchOption(input.options, '--any');
      const settings = { agent, limits, any, logAddress: address };
      const means = { clock: systemClock, random: systemRandom };
      const agentServer = new AgentServer({ cluster, settings, input, context, ...means });
      const { stdin, stdout, signal } = context;
      await serve(agentServer, { version: packageJson.version, stdin, stdout, signal });
      return EXIT.ok;
    });
  },
};

function limitsOf(options: OptionValues) {
  const maxTotal = dollarsOption(options, '--max-total');
  const maxMachines = numberOption(options, '--max-machines', { min: 1, max: 1_000, whole: true });
  if (maxTotal === undefined)
    throw usageError(
      '--max-total is missing.',
      'Give the dollars that the agent may spend in all: --max-total 5.',
    );
  if (maxMachines === undefined)
    throw usageError(
      '--max-machines is missing.',
      'Give the number of machines that the agent may have at a time: --max-machines 1.',
    );
  return { maxTotal, maxMachines };
}

function agentOf(options: OptionValues): string {
  const agent = textOption(options, '--agent') ?? DEFAULT_AGENT;
  if (/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(agent)) return agent;
  throw usageError(
    `--agent: "${agent}" is not the name of an agent.`,
    'Write at most 63 lower case letters, digits and "-".',
  );
}
