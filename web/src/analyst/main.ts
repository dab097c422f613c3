/** The analyst's screen. */
import { h } from "../shared/dom.js";
import { open } from "../shared/frame.js";

void open(async () => [h("h1", {}, "Ask")]);
