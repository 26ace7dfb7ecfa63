"use strict";(()=>{var o="headrace.theme";function t(){try{let e=localStorage.getItem(o);(e==="dark"||e==="light")&&(document.documentElement.dataset.theme=e)}catch{}}t();})();
