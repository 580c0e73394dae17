import type { CatalogGroup } from '../catalog-entry.ts';

export const ENDPOINTS: CatalogGroup = {
  heading: 'Endpoint groups of the marketplace',
  entries: [
    {
      name: 'create endpoint',
      summary: 'Create an endpoint group that the marketplace scales.',
      load: async () => (await import('../commands/create-endpoint.ts')).createEndpoint,
    },
    {
      name: 'list endpoints',
      summary: 'Show the endpoint groups that the marketplace scales.',
      aliases: ['list endpoint', 'show endpoints', 'get endpoints'],
      load: async () => (await import('../commands/list-endpoints.ts')).listEndpoints,
    },
    {
      name: 'get endpoint',
      summary: 'Show one endpoint group.',
      aliases: ['show endpoint'],
      load: async () => (await import('../commands/get-endpoint.ts')).getEndpoint,
    },
    {
      name: 'update endpoint',
      summary: 'Change an endpoint group; what is not given stays.',
      load: async () => (await import('../commands/update-endpoint.ts')).updateEndpoint,
    },
    {
      name: 'delete endpoint',
      summary: 'Delete endpoint groups; their worker groups go too.',
      load: async () => (await import('../commands/delete-endpoint.ts')).deleteEndpoint,
    },
    {
      name: 'create workergroup',
      summary: 'Create a worker group in an endpoint group of the marketplace.',
      load: async () => (await import('../commands/create-workergroup.ts')).createWorkergroup,
    },
    {
      name: 'list workergroups',
      summary: 'Show the worker groups of endpoint groups.',
      aliases: ['list workergroup', 'show workergroups', 'get workergroups'],
      load: async () => (await import('../commands/list-workergroups.ts')).listWorkergroups,
    },
    {
      name: 'get workergroup',
      summary: 'Show one worker group.',
      aliases: ['show workergroup'],
      load: async () => (await import('../commands/get-workergroup.ts')).getWorkergroup,
    },
    {
      name: 'update workergroup',
      summary: 'Change a worker group; what is not given stays.',
      load: async () => (await import('../commands/update-workergroup.ts')).updateWorkergroup,
    },
    {
      name: 'delete workergroup',
      summary: 'Delete worker groups.',
      load: async () => (await import('../commands/delete-workergroup.ts')).deleteWorkergroup,
    },
  ],
};
