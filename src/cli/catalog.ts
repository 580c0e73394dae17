import type { CatalogEntry, CatalogGroup, Command } from './command.ts';
import { JOB_ENTRY } from './job-entry.ts';

const run = () => import('./commands/run.ts');
const plan = () => import('./commands/plan.ts');
const diff = () => import('./commands/diff.ts');
const status = () => import('./commands/status.ts');
const ui = () => import('./commands/ui.ts');
const top = () => import('./commands/top.ts');
const explain = () => import('./commands/explain.ts');
const simulateEpg = () => import('./commands/simulate-epg.ts');
const wait = () => import('./commands/wait.ts');
const cost = () => import('./commands/cost.ts');
const costExport = () => import('./commands/cost-export.ts');
const pause = () => import('./commands/pause.ts');
const suspend = () => import('./commands/suspend.ts');
const objectVerbs = () => import('./commands/object-verbs.ts');
const importing = () => import('./commands/import.ts');
const logs = () => import('./commands/logs.ts');
const ssh = () => import('./commands/ssh.ts');
const cp = () => import('./commands/cp.ts');
const portForward = () => import('./commands/port-forward.ts');
const sshConfig = () => import('./commands/ssh-config.ts');
const orphans = () => import('./commands/orphans.ts');
const avoid = () => import('./commands/avoid.ts');
const doctor = () => import('./commands/doctor.ts');
const report = () => import('./commands/report.ts');
const resetIdentity = () => import('./commands/reset-identity.ts');
const offers = () => import('./commands/offers.ts');
const gpus = () => import('./commands/gpus.ts');
const instances = () => import('./commands/instances.ts');
const endpoints = () => import('./commands/endpoints.ts');
const workergroups = () => import('./commands/workergroups.ts');
const volumes = () => import('./commands/volumes.ts');
const user = () => import('./commands/user.ts');
const apiKeys = () => import('./commands/api-keys.ts');
const sshKeys = () => import('./commands/ssh-keys.ts');
const secrets = () => import('./commands/secrets.ts');
const tfa = () => import('./commands/tfa.ts');
const tfaMethods = () => import('./commands/tfa-methods.ts');
const operator = () => import('./commands/operator.ts');
const endpointPicker = () => import('./commands/endpoint-picker.ts');
const simulator = () => import('./commands/simulator.ts');
const mcp = () => import('./commands/mcp.ts');
const api = () => import('./commands/api.ts');
const completion = () => import('./commands/completion.ts');
const version = () => import('./commands/version.ts');

/** Returns a command that `module` exports as `exported`. `aliases`: other names, e.g. `list instance`. */
function command<Exported extends string>(
  name: string,
  summary: string,
  module: () => Promise<Readonly<Record<Exported, Command>>>,
  exported: Exported,
  ...aliases: readonly string[]
): CatalogEntry {
  const load = async () => (await module())[exported];
  return { name, summary, load, ...(aliases.length > 0 && { aliases }) };
}

/**
 * All commands, under the headings and in the order of the help. Name, summary and aliases are declared only here. The
 * rest of a command is loaded on demand, so that help and completion stay fast.
 */
// biome-ignore format: a command is a line.
export const catalog: readonly CatalogGroup[] = [
  {
    heading: 'Objects in the cluster',
    entries: [
      command('run', 'Rent a machine for a GPU and an image, after a question, and open a shell on it.', run, 'runCommand'),
      JOB_ENTRY,
      command('plan', 'Show the machine and cost that a manifest would rent, and why other offers lose. Spends nothing.', plan, 'planCommand'),
      command('diff', 'Show the changes that a manifest makes to existing objects and their machines. Changes nothing.', diff, 'diffCommand'),
      command('status', 'Show everything about one object: machine, cost, timeline, next step.', status, 'statusCommand'),
      command('ui', 'Serve a page on this machine: the fleet, its cost, and what happens next.', ui, 'uiCommand'),
      command('top', 'Watch EndpointGroups (requests, load, workers, cost) or machines (GPU used, cost).', top, 'topCommand'),
      command('explain', "Run the operator's own decision on an object and show the rule that fires.", explain, 'explainCommand'),
      command('simulate epg', 'Replay a load through the scaling of an EndpointGroup, with its actions and cost.', simulateEpg, 'simulateEpg', 'simulate endpointgroup'),
      command('wait', 'Wait until an object is ready, deleted, or has a condition.', wait, 'waitCommand'),
      command('cost', 'Show the present and total cost of machines, and sums by team.', cost, 'costCommand'),
      command('cost export', 'Write the charges of a month as CSV.', costExport, 'costExport'),
      command('pause', 'Stop renting and replacing for an object; running machines keep running.', pause, 'pauseCommand'),
      command('resume', 'End a pause: rent and replace again.', pause, 'resumeCommand'),
      command('suspend account', 'Stop renting and starting with an account; running machines keep running.', suspend, 'suspendAccount', 'suspend accounts'),
      command('resume account', 'End the suspension of an account.', suspend, 'resumeAccount', 'resume accounts'),
      command('stop', 'Stop the machine of an object, or with --all of every object; disks still bill.', objectVerbs, 'stopCommand'),
      command('start', 'Start the machine of a stopped object, or rent one.', objectVerbs, 'startCommand'),
      command('restart', "Restart the container on an object's machine; its disk stays.", objectVerbs, 'restartCommand'),
      command('replace', 'Destroy the machine of an object with its disk, and rent another.', objectVerbs, 'replaceCommand'),
      command('hold', 'Protect the machine of an object from replacement; --release ends it.', objectVerbs, 'holdCommand'),
      command('wake', 'Request one hot worker from an EndpointGroup now.', objectVerbs, 'wakeCommand'),
      command('reconcile', 'Request a reconcile of an object, and wait for it.', objectVerbs, 'reconcileCommand'),
      command('import', 'Write the manifest that adopts a running machine; --apply creates it.', importing, 'importCommand'),
      command('logs', "Show the log of a machine's container.", logs, 'logsCommand'),
      command('ssh', 'Open a shell on a machine, or run a command there.', ssh, 'sshCommand'),
      command('exec', 'Run a program on a machine and return its exit code.', ssh, 'execCommand'),
      command('cp', 'Copy files and folders to or from a machine; an interrupted copy resumes.', cp, 'cpCommand'),
      command('port-forward', 'Forward local ports to a rented machine.', portForward, 'portForwardCommand'),
      command('ssh-config', 'Write the SSH configuration for ssh, scp, rsync and editors.', sshConfig, 'sshConfigCommand'),
      command('orphans', 'Show machines that bill although no object claims them.', orphans, 'orphansCommand'),
      command('avoid list', 'Show machines and hosts that the operator avoids.', avoid, 'avoidList'),
      command('avoid add', 'Avoid a machine or host for a while.', avoid, 'avoidAdd'),
      command('avoid clear', 'Remove machines or hosts from the avoid list.', avoid, 'avoidClear'),
      command('doctor', 'Check cluster, permissions, operator, accounts, keys, clocks and egress; each fault has a fix.', doctor, 'doctorCommand'),
      command('report', 'Collect objects, events and checks for a bug report; secrets are left out.', report, 'reportCommand'),
      command('reset identity', 'Create a new identity for an installation that lost its own.', resetIdentity, 'resetIdentity'),
    ],
  },
  {
    heading: 'Machines at the marketplace',
    entries: [
      command('search offers', 'Find machines for rent.', offers, 'searchOffers', 'search offer'),
      command('list gpus', 'Show the GPU models for rent: names, memory, offers, prices, regions.', gpus, 'listGpus', 'list gpu', 'show gpus'),
      command('create instance', 'Rent an offer as a machine.', instances, 'createInstance'),
      command('list instances', 'Show the machines that the login rents.', instances, 'listInstances', 'list instance', 'show instances', 'get instances'),
      command('show instance', 'Show one rented machine.', instances, 'showInstance', 'get instance'),
      command('start instance', 'Start stopped machines.', instances, 'startInstance', 'start instances'),
      command('stop instance', 'Stop machines: the GPU is free, the disk still bills.', instances, 'stopInstance', 'stop instances'),
      command('reboot instance', 'Restart the container and keep its disk.', instances, 'rebootInstance', 'reboot instances'),
      command('recycle instance', 'Recreate the container from its image.', instances, 'recycleInstance', 'recycle instances'),
      command('label instance', 'Change the label of a machine; an empty one removes it.', instances, 'labelInstance'),
      command('change bid', 'Change the bid of an interruptible machine.', instances, 'changeBid'),
      command('destroy instance', 'Destroy machines with everything on them; billing ends.', instances, 'destroyInstance', 'destroy instances'),
    ],
  },
  {
    heading: 'Endpoint groups of the marketplace',
    entries: [
      command('create endpoint', 'Create an endpoint group that the marketplace scales.', endpoints, 'createEndpoint'),
      command('list endpoints', 'Show the endpoint groups that the marketplace scales.', endpoints, 'listEndpoints', 'list endpoint', 'show endpoints', 'get endpoints'),
      command('get endpoint', 'Show one endpoint group.', endpoints, 'getEndpoint', 'show endpoint'),
      command('update endpoint', 'Change an endpoint group; options that are left out stay unchanged.', endpoints, 'updateEndpoint'),
      command('delete endpoint', 'Delete endpoint groups with their worker groups.', endpoints, 'deleteEndpoint'),
      command('create workergroup', 'Create a worker group in an endpoint group of the marketplace.', workergroups, 'createWorkergroup'),
      command('list workergroups', 'Show the worker groups of endpoint groups.', workergroups, 'listWorkergroups', 'list workergroup', 'show workergroups', 'get workergroups'),
      command('get workergroup', 'Show one worker group.', workergroups, 'getWorkergroup', 'show workergroup'),
      command('update workergroup', 'Change a worker group; options that are left out stay unchanged.', workergroups, 'updateWorkergroup'),
      command('delete workergroup', 'Delete worker groups.', workergroups, 'deleteWorkergroup'),
    ],
  },
  {
    heading: 'Volumes',
    entries: [
      command('search volumes', 'Find disk for rent.', volumes, 'searchVolumes', 'search volume'),
      command('rent volume', 'Rent disk as a volume.', volumes, 'rentVolume'),
      command('list volumes', 'Show the volumes that the login rents.', volumes, 'listVolumes', 'show volumes', 'get volumes'),
      command('delete volume', 'Delete volumes that you rent, with everything on them.', volumes, 'deleteVolume'),
      command('offer volume', 'For hosts: offer disk of machines for rent.', volumes, 'offerVolume'),
      command('unlist volume', 'For hosts: remove a volume listing, so that it can no longer be rented.', volumes, 'unlistVolume'),
    ],
  },
  {
    heading: 'Account',
    entries: [
      command('show user', 'Show the user of the key, and the credit.', user, 'showUser', 'get user', 'whoami'),
      command('list api-keys', 'Show the API keys of the account, without their secrets.', apiKeys, 'listApiKeys', 'show api-keys', 'get api-keys'),
      command('show api-key', 'Show one API key, without its secret.', apiKeys, 'showApiKey', 'get api-key'),
      command('create api-key', 'Create an API key; its secret is shown only once.', apiKeys, 'createApiKey'),
      command('delete api-key', 'Delete API keys; the service then refuses calls with them.', apiKeys, 'deleteApiKey'),
      command('list ssh-keys', 'Show the SSH keys of the account.', sshKeys, 'listSshKeys', 'show ssh-keys', 'get ssh-keys'),
      command('create ssh-key', 'Register a public SSH key on the account, before renting.', sshKeys, 'createSshKey'),
      command('delete ssh-key', 'Delete SSH keys of the account.', sshKeys, 'deleteSshKey'),
      command('attach ssh-key', 'Add a public SSH key to a running container.', sshKeys, 'attachSshKey'),
      command('list secrets', "Show the names of the account's secret variables.", secrets, 'listSecrets', 'show secrets', 'list env-vars', 'show env-vars'),
      command('create secret', 'Set a secret variable in every container that the account rents.', secrets, 'createSecret', 'create env-var'),
      command('update secret', 'Change a secret variable of the account.', secrets, 'updateSecret', 'update env-var'),
      command('delete secret', 'Delete secret variables of the account.', secrets, 'deleteSecret', 'delete env-var'),
    ],
  },
  {
    heading: 'Second factor',
    entries: [
      command('tfa status', 'Show the second factor of the account.', tfa, 'tfaStatus'),
      command('tfa login', 'Log in with the second factor; later commands use that session.', tfa, 'tfaLogin'),
      command('tfa logout', 'Delete the session of a login with the second factor.', tfa, 'tfaLogout'),
      command('tfa add', 'Set up an authenticator app or SMS, step by step.', tfaMethods, 'tfaAdd'),
      command('tfa send-code', 'Send a code by email or SMS.', tfa, 'tfaSendCode'),
      command('tfa resend', 'Resend the code of an SMS.', tfa, 'tfaResend'),
      command('tfa totp-setup', 'Create a secret for an authenticator app; it takes effect when it is confirmed.', tfaMethods, 'tfaTotpSetup'),
      command('tfa authorize', 'Allow a new method to be added within 30 minutes.', tfaMethods, 'tfaAuthorize'),
      command('tfa confirm', 'Add a method with its code, after tfa authorize.', tfaMethods, 'tfaConfirm'),
      command('tfa update', 'Label a method, or make it the primary one.', tfaMethods, 'tfaUpdate'),
      command('tfa delete', 'Remove a method; removing the last one disables the second factor.', tfaMethods, 'tfaDelete'),
      command('tfa regen-codes', 'Replace all backup codes by ten new ones, shown once.', tfaMethods, 'tfaRegenCodes'),
    ],
  },
  {
    heading: 'Programs and tools',
    entries: [
      command('operator', 'Run the operator: it rents, watches, replaces and destroys machines for GpuInstances.', operator, 'operatorCommand'),
      command('endpoint-picker', 'Run the gateway of EndpointGroups: hold requests, wake workers, route by load.', endpointPicker, 'endpointPickerCommand'),
      command('simulator', 'Run a whole marketplace on this machine, with time, money and faults.', simulator, 'simulatorCommand'),
      command('mcp', 'Serve tools for an agent (Model Context Protocol), within limits of cost.', mcp, 'mcpCommand'),
      command('api', 'Send any call to the marketplace, and print its reply.', api, 'apiCommand'),
      command('completion', 'Print the script for shell completion of commands, options and names.', completion, 'completionCommand'),
      command('completion install', 'Install the completion script for the shell (or kubectl).', completion, 'completionInstall'),
      command('version', 'Show the version.', version, 'versionCommand'),
    ],
  },
];
