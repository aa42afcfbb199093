/** Calls that the app which asked runs itself. To the server each is a question to somebody. */

/** By the server's words for it: `describe` of `turnlog/tools/client_tools.py`. */
export function isOfClient({ toolName, description }: { toolName: string; description: string }): boolean {
  return description === `The client runs ${toolName}`;
}
