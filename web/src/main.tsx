// The page begins here.
import { render } from "preact";
import { App } from "./app.tsx";
import { Store } from "./store.ts";

const store = new Store();
const place = document.getElementById("page")!;
place.textContent = "";
store.draw = () => render(<App store={store} />, place);
store.draw();
void store.begin();
