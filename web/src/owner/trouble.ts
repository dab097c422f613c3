/** What is wrong, beside the field that it is about; above everything else where it is about no field. */
import { byId } from "../shared/dom.js";
import { notice } from "../shared/frame.js";

/** Parts of an error that say what it is about; the client's errors have them, others have none. */
interface About {
  readonly code?: string;
  readonly service?: string;
  readonly column?: string;
}

/** Fields of the page by the code of an error. */
const FIELDS: Readonly<Record<string, string>> = { "bad-person": "person", "bad-file": "file" };

/** A file that cannot be read as rows. */
export class FileError extends Error {
  readonly code = "bad-file";
}

/** Return the fields that an error is about: of several rows, those whose values the browser refuses too, or all of the column. */
function fieldsOf(cause: unknown): HTMLElement[] {
  const { code = "", service, column } = (cause ?? {}) as About;
  if (service !== undefined && column !== undefined) {
    const all = [...document.querySelectorAll<HTMLInputElement>("[data-column]")]
      .filter(({ dataset }) => dataset["column"] === JSON.stringify([service, column]));
    const wrong = all.filter((field) => !field.validity.valid);
    return wrong.length ? wrong : all;
  }
  const field = document.getElementById(FIELDS[code] ?? "");
  return field ? [field] : [];
}

/** Show an error where it belongs, and return the field to go to, if there is one. */
export function placeTrouble(cause: unknown): HTMLElement | null {
  const fields = fieldsOf(cause);
  if (!fields.length) {
    byId("trouble").replaceChildren(notice(cause));
    return null;
  }
  for (const field of fields) markField(field, cause);
  return fields[0]!;
}

/** Say what is wrong right after a field, for eyes and for ears. */
export function markField(field: HTMLElement, cause: unknown): void {
  const said = notice(cause);
  said.id = `${field.id}-wrong`;
  said.classList.add("beside");
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", said.id);
  field.nextElementSibling?.classList.contains("beside") ? field.nextElementSibling.replaceWith(said) : field.after(said);
}
